/// Data about languages from Unicode CLDR 46. The script `.ci/generate-languages` writes this file: change the script,
/// not the file.
enum LanguageTable {
  /// The known languages (ISO 639), without the former codes in ``languageAliases``.
  static let languages = """
    aa ab ace ach ada ady ae aeb af afh agq ain ak akk akz ale aln alt am an ang ann anp apw ar arc arn aro arp arq \
    ars arw ary arz as asa ase ast atj av avk awa ay az ba bal ban bar bas bax bbc bbj be bej bem ber bew bez bfd \
    bfq bg bgc bgn bho bi bik bin bjn bkm bla blo blt bm bn bo bpy bqi br bra brh brx bs bss bua bug bum byn byv ca \
    cad car cay cch ccp ce ceb cgg ch chb chg chk chm chn cho chp chr chy cic ckb clc co cop cps cr crg crh crj crk \
    crl crm crr crs cs csb csw cu cv cy da dak dar dav de del den dgr din dje doi dsb dtp dua dum dv dyo dyu dz dzg \
    ebu ee efi egl egy eka el elx en enm eo es esu et eu ewo ext fa fan ff fi fil fit fj fo fon fr frc frm fro frp \
    frr frs fur fy ga gaa gag gan gay gba gbz gd gez gil gl glk gmh gn goh gon gor got grb grc gsw gu guc gur guz gv \
    gwi ha hai hak haw hax he hi hif hil hit hmn hnj ho hr hsb hsn ht hu hup hur hy hz ia iba ibb id ie ig ii ik ikt \
    ilo inh io is it iu izh ja jam jbo jgo jmc jpr jrb jut jv ka kaa kab kac kaj kam kaw kbd kbl kcg kde kea ken kfo \
    kg kgp kha kho khq khw ki kiu kj kk kkj kl kln km kmb kn ko koi kok kos kpe kr krc kri krj krl kru ks ksb ksf \
    ksh ku kum kut kv kw kwk kxv ky la lad lag lah lam lb lez lfn lg li lij lil liv lkt lmo ln lo lol lou loz lrc \
    lsm lt ltg lu lua lui lun luo lus lut luy lv lzh lzz mad maf mag mai mak man mas mde mdf mdr men mer mfe mg mga \
    mgh mgo mh mi mic mid min mk ml mn mnc mni moe moh mos mr mrj ms mt mua mus mwl mwr mwv my mye myv mzn na nan \
    nap naq nb nd nds ne new ng nia niu njo nl nmg nn nnh nnp nog non nov nqo nr nso nus nv nwc ny nym nyn nyo nzi \
    oc oj ojb ojc ojs ojw oka om or os osa ota pa pag pal pam pap pau pcd pcm pdc pdt peo pfl phn pi pis pl pms pnt \
    pon pqm prg pro ps pt qu quc qug raj rap rar rej rgn rhg rif rm rn ro rof rom rtm ru rue rug rup rw rwk sa sad \
    sah sam saq sas sat saz sba sbp sc scn sco sd sdc sdh se see seh sei sel ses sg sga sgs shi shn shu si sid sjd \
    sje sju sk sl slh sli sly sm sma smj smn sms sn snk so sog sq sr srn srr ss ssy st stq str su suk sus sux sv sw \
    swb syc syr szl ta tce tcy te tem teo ter tet tg tgx th tht ti tig tiv tk tkl tkr tlh tli tly tmh tn to tog tok \
    tpi tr tru trv trw ts tsd tsi tt ttm ttt tum tvl twq ty tyv tzm udm ug uga uk umb ur uz vai ve vec vep vi vls \
    vmf vmw vo vot vro vun wa wae wal war was wbp wo wuu xal xh xmf xnr xog yao yap yav ybb yi yo yrl yue za zap zbl \
    zea zen zgh zh zu zun zza
    """

  /// The languages whose likely script is not Latin, with this script (`likelySubtags`).
  static let scripts = """
    ab=Cyrl ady=Cyrl ae=Avst aeb=Arab ain=Kana akk=Xsux alt=Cyrl am=Ethi anp=Deva ar=Arab arc=Armi arq=Arab ars=Arab \
    ary=Arab arz=Arab as=Beng ase=Sgnw av=Cyrl awa=Deva ba=Cyrl bal=Arab bax=Bamu be=Cyrl bej=Arab bfq=Taml bg=Cyrl \
    bgc=Deva bgn=Arab bho=Deva blt=Tavt bn=Beng bo=Tibt bpy=Beng bqi=Arab bra=Deva brh=Arab brx=Deva bua=Cyrl \
    byn=Ethi ccp=Cakm ce=Cyrl chg=Arab chm=Cyrl chr=Cher ckb=Arab cop=Copt cr=Cans crh=Cyrl crj=Cans crk=Cans \
    crl=Cans crm=Cans csw=Cans cu=Cyrl cv=Cyrl dar=Cyrl doi=Deva dv=Thaa dz=Tibt egy=Egyp el=Grek fa=Arab gan=Hans \
    gbz=Arab gez=Ethi glk=Arab gon=Deva got=Goth grc=Cprt gu=Gujr hak=Hans he=Hebr hi=Deva hif=Deva hit=Xsux \
    hnj=Hmnp hsn=Hans hy=Armn ii=Yiii inh=Cyrl iu=Cans ja=Jpan jpr=Hebr jrb=Hebr ka=Geor kaa=Cyrl kaw=Kawi kbd=Cyrl \
    kho=Brah khw=Arab kk=Cyrl km=Khmr kn=Knda ko=Kore koi=Cyrl kok=Deva krc=Cyrl kru=Deva ks=Arab kum=Cyrl kv=Cyrl \
    ky=Cyrl lad=Hebr lah=Arab lez=Cyrl lo=Laoo lrc=Arab lzh=Hans mag=Deva mai=Deva mde=Arab mdf=Cyrl mga=Latg \
    mid=Mand mk=Cyrl ml=Mlym mn=Cyrl mnc=Mong mni=Beng mr=Deva mrj=Cyrl mwr=Deva my=Mymr myv=Cyrl mzn=Arab nan=Hans \
    ne=Deva new=Deva nnp=Wcho nog=Cyrl non=Runr nqo=Nkoo nwc=Newa oj=Cans ojs=Cans or=Orya os=Cyrl osa=Osge ota=Arab \
    pa=Guru pal=Phli peo=Xpeo phn=Phnx pi=Sinh pnt=Grek ps=Arab raj=Deva rhg=Rohg ru=Cyrl rue=Cyrl sa=Deva sah=Cyrl \
    sam=Samr sat=Olck saz=Saur sd=Arab sdh=Arab sel=Cyrl sga=Ogam shi=Tfng shn=Mymr shu=Arab si=Sinh sjd=Cyrl \
    sog=Sogd sr=Cyrl swb=Arab syc=Syrc syr=Syrc ta=Taml tcy=Knda te=Telu tg=Cyrl th=Thai ti=Ethi tig=Ethi trw=Arab \
    tsd=Grek tt=Cyrl tyv=Cyrl udm=Cyrl ug=Arab uga=Ugar uk=Cyrl ur=Arab vai=Vaii wal=Ethi wuu=Hans xal=Cyrl xmf=Geor \
    xnr=Deva yi=Hebr yue=Hant zen=Tfng zgh=Tfng zh=Hans
    """

  /// Regions in which a language has another script than elsewhere (`likelySubtags`).
  static let regionScripts = """
    az-IQ=Arab az-IR=Arab az-RU=Cyrl ha-CM=Arab ha-SD=Arab kk-AF=Arab kk-CN=Arab kk-IR=Arab kk-MN=Arab ku-LB=Arab \
    ky-CN=Arab ky-TR=Latn man-GN=Nkoo mn-CN=Mong ms-CC=Arab pa-PK=Arab sd-IN=Deva sr-ME=Latn sr-RO=Latn sr-RU=Latn \
    sr-TR=Latn tg-PK=Arab ug-KZ=Cyrl ug-MN=Cyrl uz-AF=Arab uz-CN=Cyrl yue-CN=Hans zh-AU=Hant zh-BN=Hant zh-GB=Hant \
    zh-GF=Hant zh-HK=Hant zh-ID=Hant zh-MO=Hant zh-PA=Hant zh-PF=Hant zh-PH=Hant zh-SR=Hant zh-TH=Hant zh-TW=Hant \
    zh-US=Hant zh-VN=Hant
    """

  /// The likely region of each language, and of a language in another script than its likely script (`likelySubtags`).
  static let regions = """
    aa=ET ab=GE ace=ID ach=UG ada=GH ady=RU ae=IR aeb=TN af=ZA afh=GH agq=CM ain=JP ak=GH akk=IQ akz=US ale=US \
    aln=XK alt=RU am=ET an=ES ang=GB ann=NG anp=IN apw=US ar=EG arc-Hatr=IQ arc-Nbat=JO arc-Palm=SY arc=IR arn=CL \
    aro=BO arp=US arq=DZ ars=SA arw=SR ary=MA arz=EG as=IN asa=TZ ase=US ast=ES atj=CA av=RU avk=001 awa=IN ay=BO \
    az-Arab=IR az=AZ ba=RU bal=PK ban=ID bar=AT bas=CM bax=CM bbc=ID bbj=CM be=BY bej=SD bem=ZM bew=ID bez=TZ bfd=CM \
    bfq=IN bg=BG bgc=IN bgn=PK bho=IN bi=VU bik=PH bin=NG bjn=ID bkm=CM bla=CA blo=BJ blt=VN bm=ML bn=BD bo=CN \
    bpy=IN bqi=IR br=FR bra=IN brh=PK brx=IN bs=BA bss=CM bua=RU bug=ID bum=CM byn=ER byv=CM ca=ES cad=US car=VE \
    cay=CA cch=NG ccp=BD ce=RU ceb=PH cgg=UG ch=GU chb=CO chg=TM chk=FM chm=RU chn=US cho=US chp=CA chr=US chy=US \
    cic=US ckb=IQ clc=CA co=FR cop=EG cps=PH cr=CA crg=CA crh=UA crj=CA crk=CA crl=CA crm=CA crs=SC cs=CZ csb=PL \
    csw=CA cu-Glag=BG cu=RU cv=RU cy=GB da=DK dak=US dar=RU dav=KE de=DE del=US den=CA dgr=CA din=SS dje=NE doi=IN \
    dsb=DE dtp=MY dua=CM dum=NL dv=MV dyo=SN dyu=BF dz=BT dzg=TD ebu=KE ee=GH efi=NG egl=IT egy=EG eka=NG el=GR \
    en-Shaw=GB en=US enm=GB eo=001 es=ES esu=US et=EE eu=ES ewo=CM ext=ES fa=IR fan=GQ ff-Adlm=GN ff=SN fi=FI fil=PH \
    fit=SE fj=FJ fo=FO fon=BJ fr=FR frc=US frm=FR fro=FR frp=FR frr=DE frs=DE fur=IT fy=NL ga=IE gaa=GH gag=MD \
    gan=CN gay=ID gba=CF gbz=IR gd=GB gez=ET gil=KI gl=ES glk=IR gmh=DE gn=PY goh=DE gon=IN gor=ID got=UA grb=LR \
    grc-Linb=GR grc=CY gsw=CH gu=IN guc=CO gur=GH guz=KE gv=IM gwi=CA ha=NG hai=CA hak=CN haw=US hax=CA he=IL hi=IN \
    hif=FJ hil=PH hit=TR hmn=CN hnj-Hmng=LA hnj=US ho=PG hr=HR hsb=DE hsn=CN ht=HT hu=HU hup=US hur=CA hy=AM hz=NA \
    ia=001 iba=MY ibb=NG id=ID ie=EE ig=NG ii=CN ik=US ikt=CA ilo=PH inh=RU io=001 is=IS it=IT iu=CA izh=RU ja=JP \
    jam=JM jbo=001 jgo=CM jmc=TZ jpr=IL jrb=IL jut=DK jv=ID ka=GE kaa=UZ kab=DZ kac=MM kaj=NG kam=KE kaw=ID kbd=RU \
    kbl=TD kcg=NG kde=TZ kea=CV ken=CM kfo=CI kg=CD kgp=BR kha=IN kho=IR khq=ML khw=PK ki=KE kiu=TR kj=NA kk-Arab=CN \
    kk=KZ kkj=CM kl=GL kln=KE km=KH kmb=AO kn=IN ko=KR koi=RU kok=IN kos=FM kpe=LR kr=NG krc=RU kri=SL krj=PH krl=RU \
    kru=IN ks=IN ksb=TZ ksf=CM ksh=DE ku-Arab=IQ ku-Yezi=GE ku=TR kum=RU kut=CA kv=RU kw=GB kwk=CA kxv=IN ky-Arab=CN \
    ky-Latn=TR ky=KG la=VA lad=IL lag=TZ lah=PK lam=ZM lb=LU lez=RU lfn=001 lg=UG li=NL lij=IT lil=CA liv=LV lkt=US \
    lmo=IT ln=CD lo=LA lol=CD lou=US loz=ZM lrc=IR lsm=UG lt=LT ltg=LV lu=CD lua=CD lui=US lun=ZM luo=KE lus=IN \
    lut=US luy=KE lv=LV lzh=CN lzz=TR mad=ID maf=CM mag=IN mai=IN mak=ID man-Nkoo=GN man=GM mas=KE mde=TD mdf=RU \
    mdr=ID men=SL mer=KE mfe=MU mg=MG mga=IE mgh=MZ mgo=CM mh=MH mi=NZ mic=CA mid=IQ min=ID mk=MK ml=IN mn-Mong=CN \
    mn=MN mnc=CN mni=IN moe=CA moh=CA mos=BF mr=IN mrj=RU ms=MY mt=MT mua=CM mus=US mwl=PT mwr=IN mwv=ID my=MM \
    mye=GA myv=RU mzn=IR na=NR nan=CN nap=IT naq=NA nb=NO nd=ZW nds=DE ne=NP new=NP ng=NA nia=ID niu=NU njo=IN nl=NL \
    nmg=CM nn=NO nnh=CM nnp=IN nog=RU non=SE nov=001 nqo=GN nr=ZA nso=ZA nus=SS nv=US nwc=NP ny=MW nym=TZ nyn=UG \
    nyo=UG nzi=GH oc=FR oj=CA ojb=CA ojc=CA ojs=CA ojw=CA oka=CA om=ET or=IN os=GE osa=US ota=TR pa-Arab=PK pa=IN \
    pag=PH pal-Phlp=CN pal=IR pam=PH pap=CW pau=PW pcd=FR pcm=NG pdc=US pdt=CA peo=IR pfl=DE phn=LB pi=IN pis=SB \
    pl=PL pms=IT pnt=GR pon=FM pqm=CA prg=PL pro=FR ps=AF pt=BR qu=PE quc=GT qug=EC raj=IN rap=CL rar=CK rej=ID \
    rgn=IT rhg=MM rif=MA rm=CH rn=BI ro=RO rof=TZ rom=RO rtm=FJ ru=RU rue=UA rug=SB rup=RO rw=RW rwk=TZ sa=IN sad=TZ \
    sah=RU sam=PS saq=KE sas=ID sat=IN saz=IN sba=TD sbp=TZ sc=IT scn=IT sco=GB sd-Deva=IN sd-Khoj=IN sd-Sind=IN \
    sd=PK sdc=IT sdh=IR se=NO see=US seh=MZ sei=MX sel=RU ses=ML sg=CF sga=IE sgs=LT shi=MA shn=MM shu=TD si=LK \
    sid=ET sjd=RU sje=SE sju=SE sk=SK sl=SI slh=US sli=PL sly=ID sm=WS sma=SE smj=SE smn=FI sms=FI sn=ZW snk=ML \
    so=SO sog=UZ sq=AL sr=RS srn=SR srr=SN ss=ZA ssy=ER st=ZA stq=DE str=CA su=ID suk=TZ sus=GN sv=SE sw=TZ swb=YT \
    syc=TR syr=IQ szl=PL ta=IN tce=CA tcy=IN te=IN tem=SL teo=UG ter=BR tet=TL tg-Arab=PK tg=TJ tgx=CA th=TH tht=CA \
    ti=ET tig=ER tiv=NG tk=TM tkl=TK tkr=AZ tli=US tly=AZ tmh=NE tn=ZA to=TO tog=MW tok=001 tpi=PG tr=TR tru=TR \
    trv=TW trw=PK ts=ZA tsd=GR tsi=CA tt=RU ttm=CA ttt=AZ tum=MW tvl=TV twq=NE ty=PF tyv=RU tzm=MA udm=RU ug-Cyrl=KZ \
    ug=CN uga=SY uk=UA umb=AO ur=PK uz-Arab=AF uz=UZ vai=LR ve=ZA vec=IT vep=RU vi=VN vls=BE vmf=DE vmw=MZ vo=001 \
    vot=RU vro=EE vun=TZ wa=BE wae=CH wal=ET war=PH was=US wbp=AU wo=SN wuu=CN xal=RU xh=ZA xmf=GE xnr=IN xog=UG \
    yao=MZ yap=FM yav=CM ybb=CM yi=UA yo=NG yrl=BR yue-Hans=CN yue=HK za=CN zap=MX zea=NL zen=MR zgh=MA zh-Bopo=TW \
    zh-Hanb=TW zh-Hant=TW zh=CN zu=ZA zun=US zza=TR
    """

  /// Former and longer codes of languages (`languageAlias`), and `no` for `nb`.
  static let languageAliases = """
    aar=aa abk=ab adp=dz afr=af ajt=aeb aju=jrb aka=ak alb=sq als=sq amh=am ara=ar arb=ar arg=an arm=hy asm=as \
    ava=av ave=ae aym=ay ayr=ay aze=az azj=az bak=ba bam=bm baq=eu bcc=bal bcl=bik bel=be ben=bn bh=bho bih=bho \
    bis=bi blg=iba bod=bo bos=bs bre=br bul=bg bur=my bxk=luy bxr=bua cat=ca ces=cs cha=ch che=ce chi=zh chu=cu \
    chv=cv cld=syr cmn=zh cnr=sr-ME cor=kw cos=co cre=cr cwd=cr cym=cy cze=cs dan=da deu=de dgo=doi dhd=mwr dik=din \
    diq=zza div=dv drh=mn drw=fa-AF dut=nl dzo=dz ekk=et ell=el emk=man eng=en epo=eo esk=ik est=et eus=eu ewe=ee \
    fao=fo fas=fa fat=ak fij=fj fin=fi fra=fr fre=fr fry=fy fuc=ff ful=ff gaz=om gbo=grb geo=ka ger=de gla=gd gle=ga \
    glg=gl glv=gv gno=gon gom=kok gre=el grn=gn gug=gn guj=gu gya=gba hat=ht hau=ha hbs=sr-Latn hdn=hai hea=hmn \
    heb=he her=hz hin=hi hmo=ho hrv=hr hun=hu hye=hy ibo=ig ice=is ido=io iii=ii ike=iu iku=iu ile=ie in=id ina=ia \
    ind=id ipk=ik isl=is ita=it iw=he jav=jv ji=yi jpn=ja jw=jv kal=kl kan=kn kas=ks kat=ka kau=kr kaz=kk khk=mn \
    khm=km kik=ki kin=rw kir=ky kmr=ku knc=kr kng=kg kom=kv kon=kg kor=ko kpv=kv ktr=dtp kua=kj kur=ku kxl=kru \
    kzj=dtp kzt=dtp lao=lo lat=la lav=lv lim=li lin=ln lit=lt ltz=lb lub=lu lug=lg lvs=lv mac=mk mah=mh mal=ml \
    mao=mi mar=mr may=ms mhr=chm mkd=mk mlg=mg mlt=mt mnk=man mo=ro mol=ro mon=mn mri=mi msa=ms mup=raj mya=my \
    nau=na nav=nv nbl=nr nde=nd ndo=ng nep=ne nld=nl nno=nn no=nb nob=nb nor=nb npi=ne nya=ny oci=oc ojg=oj oji=oj \
    ori=or orm=om ory=or oss=os pan=pa pbu=ps per=fa pes=fa pli=pi plt=mg pmk=crr pnb=lah pol=pl por=pt prp=gu \
    prs=fa-AF pus=ps que=qu quz=qu rmy=rom roh=rm ron=ro rum=ro run=rn rus=ru sag=sg san=sa scc=sr scr=hr sh=sr-Latn \
    sin=si slk=sk slo=sk slv=sl smd=kmb sme=se smo=sm sna=sn snb=iba snd=sd som=so sot=st spa=es spy=kln sqi=sq \
    src=sc srd=sc srp=sr ssw=ss sun=su swa=sw swc=sw-CD swe=sv swh=sw tah=ty tam=ta tat=tt tdu=dtp tel=te tgk=tg \
    tgl=fil tha=th tib=bo tir=ti tl=fil tnf=fa-AF ton=to tsn=tn tso=ts ttq=tmh tuk=tk tur=tr tw=ak twi=ak uig=ug \
    ukr=uk umu=del urd=ur uzb=uz uzn=uz ven=ve vie=vi vol=vo wel=cy wln=wa wol=wo xho=xh xpe=kpe xsl=den ydd=yi \
    yid=yi yor=yo zai=zap zha=za zho=zh zsm=ms zul=zu zyb=za
    """

  /// Former codes of regions with exactly one successor, and the code of the successor (`territoryAlias`).
  static let regionAliases = """
    BU=MM CT=KI DD=DE DY=BJ FX=FR HV=BF JT=UM MI=UM NH=VU NQ=AQ PU=UM PZ=PA QU=EU RH=ZW TP=TL UK=GB VD=VN WK=UM \
    YD=YE ZR=CD
    """

  /// Locales whose parent is another tag than their own tag without its last subtag (`parentLocales`). All tags contain
  /// the script.
  static let parents = """
    en-Latn-150=en-Latn-001 en-Latn-AG=en-Latn-001 en-Latn-AI=en-Latn-001 en-Latn-AT=en-Latn-150 \
    en-Latn-AU=en-Latn-001 en-Latn-BB=en-Latn-001 en-Latn-BE=en-Latn-150 en-Latn-BM=en-Latn-001 \
    en-Latn-BS=en-Latn-001 en-Latn-BW=en-Latn-001 en-Latn-BZ=en-Latn-001 en-Latn-CC=en-Latn-001 \
    en-Latn-CH=en-Latn-150 en-Latn-CK=en-Latn-001 en-Latn-CM=en-Latn-001 en-Latn-CX=en-Latn-001 \
    en-Latn-CY=en-Latn-001 en-Latn-DE=en-Latn-150 en-Latn-DG=en-Latn-001 en-Latn-DK=en-Latn-150 \
    en-Latn-DM=en-Latn-001 en-Latn-ER=en-Latn-001 en-Latn-FI=en-Latn-150 en-Latn-FJ=en-Latn-001 \
    en-Latn-FK=en-Latn-001 en-Latn-FM=en-Latn-001 en-Latn-GB=en-Latn-001 en-Latn-GD=en-Latn-001 \
    en-Latn-GG=en-Latn-001 en-Latn-GH=en-Latn-001 en-Latn-GI=en-Latn-001 en-Latn-GM=en-Latn-001 \
    en-Latn-GY=en-Latn-001 en-Latn-HK=en-Latn-001 en-Latn-ID=en-Latn-001 en-Latn-IE=en-Latn-001 \
    en-Latn-IL=en-Latn-001 en-Latn-IM=en-Latn-001 en-Latn-IN=en-Latn-001 en-Latn-IO=en-Latn-001 \
    en-Latn-JE=en-Latn-001 en-Latn-JM=en-Latn-001 en-Latn-KE=en-Latn-001 en-Latn-KI=en-Latn-001 \
    en-Latn-KN=en-Latn-001 en-Latn-KY=en-Latn-001 en-Latn-LC=en-Latn-001 en-Latn-LR=en-Latn-001 \
    en-Latn-LS=en-Latn-001 en-Latn-MG=en-Latn-001 en-Latn-MO=en-Latn-001 en-Latn-MS=en-Latn-001 \
    en-Latn-MT=en-Latn-001 en-Latn-MU=en-Latn-001 en-Latn-MV=en-Latn-001 en-Latn-MW=en-Latn-001 \
    en-Latn-MY=en-Latn-001 en-Latn-NA=en-Latn-001 en-Latn-NF=en-Latn-001 en-Latn-NG=en-Latn-001 \
    en-Latn-NL=en-Latn-150 en-Latn-NR=en-Latn-001 en-Latn-NU=en-Latn-001 en-Latn-NZ=en-Latn-001 \
    en-Latn-PG=en-Latn-001 en-Latn-PK=en-Latn-001 en-Latn-PN=en-Latn-001 en-Latn-PW=en-Latn-001 \
    en-Latn-RW=en-Latn-001 en-Latn-SB=en-Latn-001 en-Latn-SC=en-Latn-001 en-Latn-SD=en-Latn-001 \
    en-Latn-SE=en-Latn-150 en-Latn-SG=en-Latn-001 en-Latn-SH=en-Latn-001 en-Latn-SI=en-Latn-150 \
    en-Latn-SL=en-Latn-001 en-Latn-SS=en-Latn-001 en-Latn-SX=en-Latn-001 en-Latn-SZ=en-Latn-001 \
    en-Latn-TC=en-Latn-001 en-Latn-TK=en-Latn-001 en-Latn-TO=en-Latn-001 en-Latn-TT=en-Latn-001 \
    en-Latn-TV=en-Latn-001 en-Latn-TZ=en-Latn-001 en-Latn-UG=en-Latn-001 en-Latn-VC=en-Latn-001 \
    en-Latn-VG=en-Latn-001 en-Latn-VU=en-Latn-001 en-Latn-WS=en-Latn-001 en-Latn-ZA=en-Latn-001 \
    en-Latn-ZM=en-Latn-001 en-Latn-ZW=en-Latn-001 es-Latn-AR=es-Latn-419 es-Latn-BO=es-Latn-419 \
    es-Latn-BR=es-Latn-419 es-Latn-BZ=es-Latn-419 es-Latn-CL=es-Latn-419 es-Latn-CO=es-Latn-419 \
    es-Latn-CR=es-Latn-419 es-Latn-CU=es-Latn-419 es-Latn-DO=es-Latn-419 es-Latn-EC=es-Latn-419 \
    es-Latn-GT=es-Latn-419 es-Latn-HN=es-Latn-419 es-Latn-JP=es-Latn-419 es-Latn-MX=es-Latn-419 \
    es-Latn-NI=es-Latn-419 es-Latn-PA=es-Latn-419 es-Latn-PE=es-Latn-419 es-Latn-PR=es-Latn-419 \
    es-Latn-PY=es-Latn-419 es-Latn-SV=es-Latn-419 es-Latn-US=es-Latn-419 es-Latn-UY=es-Latn-419 \
    es-Latn-VE=es-Latn-419 hi-Latn=en-Latn-IN ht-Latn=fr-Latn-HT nn-Latn=nb-Latn pt-Latn-AO=pt-Latn-PT \
    pt-Latn-CH=pt-Latn-PT pt-Latn-CV=pt-Latn-PT pt-Latn-FR=pt-Latn-PT pt-Latn-GQ=pt-Latn-PT pt-Latn-GW=pt-Latn-PT \
    pt-Latn-LU=pt-Latn-PT pt-Latn-MO=pt-Latn-PT pt-Latn-MZ=pt-Latn-PT pt-Latn-ST=pt-Latn-PT pt-Latn-TL=pt-Latn-PT \
    zh-Hant-MO=zh-Hant-HK
    """

}
