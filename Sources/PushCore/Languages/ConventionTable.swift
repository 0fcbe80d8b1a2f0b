/// Notations of numbers and dates in common languages, and in regions that differ from their language. The data comes
/// from Unicode CLDR 46 in the toolchain's Foundation. `.ci/generate-conventions.swift` writes this file: change the
/// script, not the file.
enum ConventionTable {
  /// A row for each locale: tag, separator of groups, decimal separator, grouping, minus sign, short date, long date,
  /// time, the names of the two halves of the day, and the locale whose month names it uses.
  static let rows = """
    ar;,;.;thousands;\u{200e}-;d\u{200f}/M\u{200f}/y;d MMMM، y;h:mm\u{a0}a;ص;م;ar
    ar-DZ;.;,;thousands;\u{200e}-;d\u{200f}/M\u{200f}/y;d MMMM، y;h:mm\u{a0}a;ص;م;ar-DZ
    ar-IL;,;.;thousands;\u{200e}-;d\u{200f}/M\u{200f}/y;d MMMM y;HH:mm;;;ar
    ar-IQ;,;.;thousands;\u{200e}-;d\u{200f}/M\u{200f}/y;d MMMM، y;h:mm\u{a0}a;ص;م;ar-IQ
    ar-JO;,;.;thousands;\u{200e}-;d\u{200f}/M\u{200f}/y;d MMMM، y;h:mm\u{a0}a;ص;م;ar-IQ
    ar-KM;,;.;thousands;\u{200e}-;d\u{200f}/M\u{200f}/y;d MMMM y;HH:mm;;;ar
    ar-LB;,;.;thousands;\u{200e}-;d\u{200f}/M\u{200f}/y;d MMMM، y;h:mm\u{a0}a;ص;م;ar-IQ
    ar-LY;.;,;thousands;\u{200e}-;d\u{200f}/M\u{200f}/y;d MMMM، y;h:mm\u{a0}a;ص;م;ar
    ar-MA;.;,;thousands;\u{200e}-;d\u{200f}/M\u{200f}/y;d MMMM y;HH:mm;;;ar-MA
    ar-MR;.;,;thousands;\u{200e}-;d\u{200f}/M\u{200f}/y;d MMMM، y;h:mm\u{a0}a;ص;م;ar-MR
    ar-PS;,;.;thousands;\u{200e}-;d\u{200f}/M\u{200f}/y;d MMMM، y;h:mm\u{a0}a;ص;م;ar-IQ
    ar-SY;,;.;thousands;\u{200e}-;d\u{200f}/M\u{200f}/y;d MMMM، y;h:mm\u{a0}a;ص;م;ar-IQ
    ar-TN;.;,;thousands;\u{200e}-;d\u{200f}/M\u{200f}/y;d MMMM، y;h:mm\u{a0}a;ص;م;ar-DZ
    bg;\u{a0};,;fromTenThousand;-;d.MM.y\u{202f}'г'.;d MMMM y\u{202f}'г'.;H:mm;;;bg
    ca;.;,;thousands;-;d/M/y;d MMMM 'del' y;H:mm;;;ca
    cs;\u{a0};,;thousands;-;d.\u{202f}M.\u{202f}y;d. MMMM y;H:mm;;;cs
    da;.;,;thousands;-;d.M.y;d. MMMM y;HH.mm;;;da
    de;.;,;thousands;-;d.M.y;d. MMMM y;HH:mm;;;de
    de-AT;.;,;thousands;-;d.M.y;d. MMMM y;HH:mm;;;de-AT
    de-CH;\u{2019};.;thousands;-;d.M.y;d. MMMM y;HH:mm;;;de
    de-IT;.;,;thousands;-;d.M.y;d. MMMM y;HH:mm;;;de-AT
    de-LI;\u{2019};.;thousands;-;d.M.y;d. MMMM y;HH:mm;;;de
    el;.;,;thousands;-;d/M/y;d MMMM y;h:mm\u{202f}a;πμ;μμ;el
    en;,;.;thousands;-;M/d/y;MMMM d, y;h:mm\u{202f}a;AM;PM;en
    en-001;,;.;thousands;-;dd/MM/y;d MMMM y;h:mm\u{202f}a;AM;PM;en
    en-150;,;.;thousands;-;d/M/y;d MMMM y;HH:mm;;;en
    en-AE;,;.;thousands;-;dd/MM/y;d MMMM y;h:mm\u{202f}a;AM;PM;en
    en-AI;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-AL;\u{a0};,;thousands;-;d/M/y;d MMMM y;h:mm\u{202f}a;AM;PM;en
    en-AR;.;,;thousands;-;dd/MM/y;d MMMM y;h:mm\u{202f}a;AM;PM;en
    en-AT;.;,;thousands;-;d.M.y;d. MMMM y;HH:mm;;;en
    en-AU;,;.;thousands;-;d/M/y;d MMMM y;h:mm\u{202f}a;am;pm;en
    en-BD;,;.;indian;-;dd/MM/y;d MMMM, y;h:mm\u{202f}a;AM;PM;en
    en-BE;.;,;thousands;-;d/M/y;d MMMM y;HH:mm;;;en
    en-BG;\u{a0};,;thousands;-;d.MM.y;d MMMM y;HH:mm;;;en
    en-BI;,;.;thousands;-;M/d/y;MMMM d, y;HH:mm;;;en
    en-BN;,;.;thousands;-;dd/MM/y;d MMMM y;h:mm\u{202f}a;AM;PM;en
    en-BR;.;,;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-BW;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-BZ;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-CA;,;.;thousands;-;y-MM-dd;MMMM d, y;h:mm\u{202f}a;AM;PM;en
    en-CC;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-CH;';.;thousands;-;d.M.y;d MMMM y;HH:mm;;;en
    en-CK;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-CL;.;,;thousands;-;dd-MM-y;d MMMM y;h:mm\u{202f}a;AM;PM;en
    en-CM;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-CN;,;.;thousands;-;y/M/d;MMMM d, y;HH:mm;;;en
    en-CO;.;,;thousands;-;d/MM/y;d MMMM y;h:mm\u{202f}a;AM;PM;en
    en-CV;\u{a0};,;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-CX;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-CZ;\u{a0};,;thousands;-;d. M. y;d MMMM y;HH:mm;;;en
    en-DE;.;,;thousands;-;d.M.y;d. MMMM y;HH:mm;;;en
    en-DG;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-DK;.;,;thousands;-;d/M/y;d MMMM y;HH.mm;;;en
    en-EE;\u{a0};,;thousands;-;dd.MM.y;d. MMMM y;HH:mm;;;en
    en-FI;\u{a0};,;thousands;-;d.M.y;d. MMMM y;H.mm;;;en
    en-FK;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-FR;\u{202f};,;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-GB;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-GG;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-GI;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-GR;.;,;thousands;-;d/M/y;d MMMM y;h:mm\u{202f}a;AM;PM;en
    en-HK;,;.;thousands;-;d/M/y;d MMMM y;h:mm\u{202f}a;AM;PM;en
    en-HU;\u{a0};,;thousands;-;y. MM. dd.;y. MMMM d.;H:mm;;;en
    en-ID;.;,;thousands;-;dd/MM/y;d MMMM y;HH.mm;;;en
    en-IE;,;.;thousands;-;d/M/y;d MMMM y;HH:mm;;;en
    en-IL;,;.;thousands;-;dd/MM/y;d MMMM y;H:mm;;;en
    en-IM;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-IN;,;.;indian;-;d/M/y;d MMMM y;h:mm\u{202f}a;AM;PM;en
    en-IO;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-JE;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-JP;,;.;thousands;-;y/MM/dd;MMMM d, y;HH:mm;;;en
    en-KE;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-LT;\u{a0};,;thousands;-;d/M/y;d MMMM y;HH:mm;;;en
    en-LV;\u{a0};,;thousands;-;d/M/y;d MMMM y;HH:mm;;;en
    en-MG;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-MM;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-MS;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-MT;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-MU;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-MV;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-MX;,;.;thousands;-;d/M/y;d MMMM y;h:mm\u{202f}a;a.m.;p.m.;en
    en-NF;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-NG;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-NL;.;,;thousands;-;d/M/y;d MMMM y;HH:mm;;;en
    en-NO;\u{a0};,;thousands;-;d/M/y;d MMMM y;HH:mm;;;en
    en-NR;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-NU;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-NZ;,;.;thousands;-;d/MM/y;d MMMM y;h:mm\u{202f}a;AM;PM;en
    en-PL;\u{a0};,;thousands;-;d/M/y;d MMMM y;HH:mm;;;en
    en-PN;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-PT;\u{a0};,;thousands;-;d/M/y;d MMMM y;HH:mm;;;en
    en-RU;\u{a0};,;thousands;-;dd.MM.y;d MMMM y;HH:mm;;;en
    en-RW;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-SA;,;.;thousands;-;dd/MM/y;d MMMM y;h:mm\u{202f}a;AM;PM;en
    en-SC;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-SE;\u{a0};,;thousands;-;y-MM-dd;d MMMM y;HH:mm;;;en
    en-SH;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-SI;.;,;thousands;-;d. M. y;d MMMM y;HH:mm;;;en
    en-SK;\u{a0};,;thousands;-;d/M/y;d MMMM y;HH:mm;;;en
    en-SX;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-TH;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-TK;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-TR;.;,;thousands;-;M/d/y;d MMMM y;HH:mm;;;en
    en-TV;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-TZ;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-UA;\u{a0};,;thousands;-;d/M/y;d MMMM y;HH:mm;;;en
    en-UG;,;.;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;en
    en-ZA;\u{a0};,;thousands;-;y/MM/dd;d MMMM y;HH:mm;;;en
    en-ZW;,;.;thousands;-;d/M/y;d MMMM y;HH:mm;;;en
    es;.;,;fromTenThousand;-;d/M/y;d 'de' MMMM 'de' y;H:mm;;;es
    es-419;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.m.;p.m.;es
    es-AG;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.m.;p.m.;es
    es-AR;.;,;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.\u{a0}m.;p.\u{a0}m.;es
    es-BB;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.m.;p.m.;es
    es-BM;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.m.;p.m.;es
    es-BO;.;,;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.\u{a0}m.;p.\u{a0}m.;es
    es-BQ;.;,;thousands;-;d/M/y;d 'de' MMMM 'de' y;HH:mm;;;es
    es-BR;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;HH:mm;;;es
    es-BS;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.m.;p.m.;es
    es-BZ;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;HH:mm;;;es
    es-CA;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.m.;p.m.;es
    es-CL;.;,;thousands;-;dd-MM-y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.m.;p.m.;es
    es-CO;.;,;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.m.;p.m.;es
    es-CR;.;,;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.\u{a0}m.;p.\u{a0}m.;es
    es-CW;.;,;thousands;-;d/M/y;d 'de' MMMM 'de' y;HH:mm;;;es
    es-DM;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.m.;p.m.;es
    es-DO;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.\u{a0}m.;p.\u{a0}m.;es
    es-EC;.;,;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.\u{a0}m.;p.\u{a0}m.;es
    es-GD;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.m.;p.m.;es
    es-GT;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.\u{a0}m.;p.\u{a0}m.;es
    es-GY;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.m.;p.m.;es
    es-HN;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.\u{a0}m.;p.\u{a0}m.;es
    es-HT;\u{202f};,;thousands;-;d/M/y;d 'de' MMMM 'de' y;HH:mm;;;es
    es-KN;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.m.;p.m.;es
    es-KY;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.m.;p.m.;es
    es-LC;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.m.;p.m.;es
    es-NI;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.\u{a0}m.;p.\u{a0}m.;es
    es-PA;,;.;thousands;-;MM/dd/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.\u{a0}m.;p.\u{a0}m.;es
    es-PE;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.\u{a0}m.;p.\u{a0}m.;es-PE
    es-PH;.;,;fromTenThousand;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.\u{202f}m.;p.\u{202f}m.;es
    es-PR;,;.;thousands;-;MM/dd/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.\u{a0}m.;p.\u{a0}m.;es
    es-PY;.;,;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.\u{a0}m.;p.\u{a0}m.;es
    es-SV;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.\u{a0}m.;p.\u{a0}m.;es
    es-TC;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.m.;p.m.;es
    es-TT;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.m.;p.m.;es
    es-US;,;.;thousands;-;M/d/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.m.;p.m.;es
    es-UY;.;,;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.\u{a0}m.;p.\u{a0}m.;es-PE
    es-VC;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.m.;p.m.;es
    es-VE;.;,;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.\u{a0}m.;p.\u{a0}m.;es
    es-VG;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.m.;p.m.;es
    es-VI;,;.;thousands;-;d/M/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;a.m.;p.m.;es
    fi;\u{a0};,;thousands;−;d.M.y;d. MMMM y;H.mm;;;fi
    fr;\u{202f};,;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;fr
    fr-CA;\u{a0};,;thousands;-;y-MM-dd;d MMMM y;HH:mm;;;fr
    fr-CH;\u{202f};,;thousands;-;dd.MM.y;d MMMM y;HH:mm;;;fr
    fr-DJ;\u{202f};,;thousands;-;dd/MM/y;d MMMM y;h:mm\u{202f}a;AM;PM;fr
    fr-DZ;\u{202f};,;thousands;-;dd/MM/y;d MMMM y;h:mm\u{202f}a;AM;PM;fr
    fr-LU;.;,;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;fr
    fr-MA;.;,;thousands;-;dd/MM/y;d MMMM y;HH:mm;;;fr
    fr-MR;\u{202f};,;thousands;-;dd/MM/y;d MMMM y;h:mm\u{202f}a;AM;PM;fr
    fr-SY;\u{202f};,;thousands;-;dd/MM/y;d MMMM y;h:mm\u{202f}a;AM;PM;fr
    fr-TD;\u{202f};,;thousands;-;dd/MM/y;d MMMM y;h:mm\u{202f}a;AM;PM;fr
    fr-TN;\u{202f};,;thousands;-;dd/MM/y;d MMMM y;h:mm\u{202f}a;AM;PM;fr
    fr-VU;\u{202f};,;thousands;-;dd/MM/y;d MMMM y;h:mm\u{202f}a;AM;PM;fr
    he;,;.;thousands;\u{200e}-;d.M.y;d בMMMM y;H:mm;;;he
    hi;,;.;indian;-;d/M/y;d MMMM y;a h:mm;पू;अ;hi
    hi-Latn;,;.;indian;-;d/M/y;d MMMM, y;h:mm\u{202f}a;AM;PM;en
    hr;.;,;thousands;−;dd. MM. y.;d. MMMM y.;HH:mm;;;hr
    hu;\u{a0};,;fromTenThousand;-;y. MM. dd.;y. MMMM d.;H:mm;;;hu
    id;.;,;thousands;-;d/M/y;d MMMM y;HH.mm;;;id
    it;.;,;fromTenThousand;-;dd/MM/y;d MMMM y;HH:mm;;;it
    it-CH;\u{2019};.;fromTenThousand;-;dd/MM/y;d MMMM y;HH:mm;;;it
    ja;,;.;thousands;-;y/M/d;y年M月d日;H:mm;;;
    ko;,;.;thousands;-;y. M. d.;y년 MMMM d일;a h:mm;오전;오후;ko
    ko-CN;,;.;thousands;-;y. M. d.;y년 MMMM d일;HH:mm;;;ko
    ms;,;.;thousands;-;d/M/y;d MMMM y;h:mm\u{202f}a;PG;PTG;ms
    ms-Arab;,;.;thousands;-;d/M/y;d MMMM y;h:mm a;AM;PM;ms-Arab
    ms-Arab-BN;.;,;thousands;-;d/M/y;d MMMM y;h:mm a;AM;PM;ms-Arab
    ms-BN;.;,;thousands;-;d/M/y;d MMMM y;h:mm\u{202f}a;PG;PTG;ms
    ms-ID;.;,;thousands;-;d/M/y;d MMMM y;HH.mm;;;ms
    nb;\u{a0};,;thousands;−;d.M.y;d. MMMM y;HH:mm;;;nb
    nl;.;,;thousands;-;d-M-y;d MMMM y;HH:mm;;;nl
    nl-BE;.;,;thousands;-;d/M/y;d MMMM y;HH:mm;;;nl
    pl;\u{a0};,;fromTenThousand;-;d.MM.y;d MMMM y;HH:mm;;;pl
    pt;.;,;thousands;-;dd/MM/y;d 'de' MMMM 'de' y;HH:mm;;;pt
    pt-AO;\u{a0};,;thousands;-;dd/MM/y;d 'de' MMMM 'de' y;HH:mm;;;pt
    pt-MO;\u{a0};,;fromTenThousand;-;dd/MM/y;d 'de' MMMM 'de' y;h:mm\u{202f}a;AM;PM;pt
    pt-PT;\u{a0};,;fromTenThousand;-;dd/MM/y;d 'de' MMMM 'de' y;HH:mm;;;pt
    ro;.;,;thousands;-;dd.MM.y;d MMMM y;HH:mm;;;ro
    ru;\u{a0};,;thousands;-;dd.MM.y;d MMMM y\u{202f}'г'.;HH:mm;;;ru
    ru-UA;\u{a0};,;fromTenThousand;-;dd.MM.y;d MMMM y\u{202f}'г'.;HH:mm;;;ru
    sk;\u{a0};,;thousands;-;d.\u{202f}M.\u{202f}y;d. MMMM y;H:mm;;;sk
    sv;\u{a0};,;thousands;−;y-MM-dd;d MMMM y;HH:mm;;;sv
    sv-FI;\u{a0};,;thousands;−;y-MM-dd;d MMMM y;HH.mm;;;sv
    th;,;.;thousands;-;d/M/y;d MMMM y;HH:mm;;;th
    tr;.;,;thousands;-;d.MM.y;d MMMM y;HH:mm;;;tr
    tr-CY;.;,;thousands;-;d.MM.y;d MMMM y;a\u{202f}h:mm;ÖÖ;ÖS;tr
    uk;\u{a0};,;thousands;-;dd.MM.y;d MMMM y\u{202f}'р'.;HH:mm;;;uk
    vi;.;,;thousands;-;d/M/y;'ngày' d MMMM, y;HH:mm;;;vi
    zh;,;.;thousands;-;y/M/d;y年M月d日;HH:mm;;;
    zh-Hans-HK;,;.;thousands;-;d/M/y;y年M月d日;ah:mm;上午;下午;
    zh-Hans-MO;,;.;thousands;-;y年M月d日;y年M月d日;ah:mm;上午;下午;
    zh-Hans-MY;,;.;thousands;-;y/M/d;y年M月d日;ah:mm;上午;下午;
    zh-Hans-SG;,;.;thousands;-;y年M月d日;y年M月d日;ah:mm;上午;下午;
    zh-Hant;,;.;thousands;-;y/M/d;y年M月d日;ah:mm;上午;下午;
    zh-Hant-CN;,;.;thousands;-;y/M/d;y年M月d日;HH:mm;;;
    zh-Hant-HK;,;.;thousands;-;d/M/y;y年M月d日;ah:mm;上午;下午;
    zh-Hant-JP;,;.;thousands;-;y/M/d;y年M月d日;H:mm;;;
    """

  /// The names of the months, by locale.
  static let months = """
    ar;يناير|فبراير|مارس|أبريل|مايو|يونيو|يوليو|أغسطس|سبتمبر|أكتوبر|نوفمبر|ديسمبر
    ar-DZ;جانفي|فيفري|مارس|أفريل|ماي|جوان|جويلية|أوت|سبتمبر|أكتوبر|نوفمبر|ديسمبر
    ar-IQ;كانون الثاني|شباط|آذار|نيسان|أيار|حزيران|تموز|آب|أيلول|تشرين الأول|تشرين الثاني|كانون الأول
    ar-MA;يناير|فبراير|مارس|أبريل|ماي|يونيو|يوليوز|غشت|شتنبر|أكتوبر|نونبر|دجنبر
    ar-MR;يناير|فبراير|مارس|إبريل|مايو|يونيو|يوليو|أغشت|شتمبر|أكتوبر|نوفمبر|دجمبر
    bg;януари|февруари|март|април|май|юни|юли|август|септември|октомври|ноември|декември
    ca;de gener|de febrer|de març|d\u{2019}abril|de maig|de juny|de juliol|d\u{2019}agost|de setembre|d\u{2019}octubre|de novembre|de desembre
    cs;ledna|února|března|dubna|května|června|července|srpna|září|října|listopadu|prosince
    da;januar|februar|marts|april|maj|juni|juli|august|september|oktober|november|december
    de;Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember
    de-AT;Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember
    el;Ιανουαρίου|Φεβρουαρίου|Μαρτίου|Απριλίου|Μαΐου|Ιουνίου|Ιουλίου|Αυγούστου|Σεπτεμβρίου|Οκτωβρίου|Νοεμβρίου|Δεκεμβρίου
    en;January|February|March|April|May|June|July|August|September|October|November|December
    es;enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre
    es-PE;enero|febrero|marzo|abril|mayo|junio|julio|agosto|setiembre|octubre|noviembre|diciembre
    fi;tammikuuta|helmikuuta|maaliskuuta|huhtikuuta|toukokuuta|kesäkuuta|heinäkuuta|elokuuta|syyskuuta|lokakuuta|marraskuuta|joulukuuta
    fr;janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre
    he;ינואר|פברואר|מרץ|אפריל|מאי|יוני|יולי|אוגוסט|ספטמבר|אוקטובר|נובמבר|דצמבר
    hi;जनवरी|फ़रवरी|मार्च|अप्रैल|मई|जून|जुलाई|अगस्त|सितंबर|अक्तूबर|नवंबर|दिसंबर
    hr;siječnja|veljače|ožujka|travnja|svibnja|lipnja|srpnja|kolovoza|rujna|listopada|studenoga|prosinca
    hu;január|február|március|április|május|június|július|augusztus|szeptember|október|november|december
    id;Januari|Februari|Maret|April|Mei|Juni|Juli|Agustus|September|Oktober|November|Desember
    it;gennaio|febbraio|marzo|aprile|maggio|giugno|luglio|agosto|settembre|ottobre|novembre|dicembre
    ko;1월|2월|3월|4월|5월|6월|7월|8월|9월|10월|11월|12월
    ms;Januari|Februari|Mac|April|Mei|Jun|Julai|Ogos|September|Oktober|November|Disember
    ms-Arab;جانواري|فيبواري|مچ|اڤريل|مي|جون|جولاي|ݢوس|سيڤتيمبر|اوکتوبر|نوۏيمبر|ديسيمبر
    nb;januar|februar|mars|april|mai|juni|juli|august|september|oktober|november|desember
    nl;januari|februari|maart|april|mei|juni|juli|augustus|september|oktober|november|december
    pl;stycznia|lutego|marca|kwietnia|maja|czerwca|lipca|sierpnia|września|października|listopada|grudnia
    pt;janeiro|fevereiro|março|abril|maio|junho|julho|agosto|setembro|outubro|novembro|dezembro
    ro;ianuarie|februarie|martie|aprilie|mai|iunie|iulie|august|septembrie|octombrie|noiembrie|decembrie
    ru;января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря
    sk;januára|februára|marca|apríla|mája|júna|júla|augusta|septembra|októbra|novembra|decembra
    sv;januari|februari|mars|april|maj|juni|juli|augusti|september|oktober|november|december
    th;มกราคม|กุมภาพันธ์|มีนาคม|เมษายน|พฤษภาคม|มิถุนายน|กรกฎาคม|สิงหาคม|กันยายน|ตุลาคม|พฤศจิกายน|ธันวาคม
    tr;Ocak|Şubat|Mart|Nisan|Mayıs|Haziran|Temmuz|Ağustos|Eylül|Ekim|Kasım|Aralık
    uk;січня|лютого|березня|квітня|травня|червня|липня|серпня|вересня|жовтня|листопада|грудня
    vi;tháng 1|tháng 2|tháng 3|tháng 4|tháng 5|tháng 6|tháng 7|tháng 8|tháng 9|tháng 10|tháng 11|tháng 12
    """
}
