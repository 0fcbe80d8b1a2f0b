/// How people write numbers and dates, for the usual languages and those of their regions that differ. From CLDR, as the
/// toolchain's Foundation has it (`ContentFormatTests` holds it against that); the groups of India are CLDR's own.
extension LocaleConvention {
  static let table: [LocaleConvention] = [
    .init(
      "ar", ",", ".", minus: "\u{200e}-", date: "d\u{200f}/M\u{200f}/y", long: "d MMMM، y", time: "h:mm\u{a0}a",
      halves: ("ص", "م"), months: arMonths),
    .init(
      "bg", "\u{a0}", ",", grouping: .fromTenThousand, date: "d.MM.y\u{202f}'г'.", long: "d MMMM y\u{202f}'г'.",
      time: "H:mm", months: bgMonths),
    .init("ca", ".", ",", date: "d/M/y", long: "d MMMM 'del' y", time: "H:mm", months: caMonths),
    .init("cs", "\u{a0}", ",", date: "d.\u{202f}M.\u{202f}y", long: "d. MMMM y", time: "H:mm", months: csMonths),
    .init("da", ".", ",", date: "d.M.y", long: "d. MMMM y", time: "HH.mm", months: daMonths),
    .init("de", ".", ",", date: "d.M.y", long: "d. MMMM y", time: "HH:mm", months: deMonths),
    .init("de-at", ".", ",", date: "d.M.y", long: "d. MMMM y", time: "HH:mm", months: deATMonths),
    .init("de-ch", "\u{2019}", ".", date: "d.M.y", long: "d. MMMM y", time: "HH:mm", months: deMonths),
    .init(
      "el", ".", ",", date: "d/M/y", long: "d MMMM y", time: "h:mm\u{202f}a", halves: ("πμ", "μμ"), months: elMonths),
    .init(
      "en", ",", ".", date: "M/d/y", long: "MMMM d, y", time: "h:mm\u{202f}a", halves: ("AM", "PM"), months: enMonths),
    .init(
      "en-au", ",", ".", date: "d/M/y", long: "d MMMM y", time: "h:mm\u{202f}a", halves: ("am", "pm"), months: enMonths),
    .init(
      "en-ca", ",", ".", date: "y-MM-dd", long: "MMMM d, y", time: "h:mm\u{202f}a", halves: ("AM", "PM"),
      months: enMonths),
    .init("en-gb", ",", ".", date: "dd/MM/y", long: "d MMMM y", time: "HH:mm", months: enMonths),
    .init(
      "en-in", ",", ".", grouping: .indian, date: "d/M/y", long: "d MMMM y", time: "h:mm\u{202f}a",
      halves: ("AM", "PM"), months: enMonths),
    .init(
      "es", ".", ",", grouping: .fromTenThousand, date: "d/M/y", long: "d 'de' MMMM 'de' y", time: "H:mm",
      months: esMonths),
    .init(
      "es-419", ",", ".", date: "d/M/y", long: "d 'de' MMMM 'de' y", time: "h:mm\u{202f}a", halves: ("a.m.", "p.m."),
      months: esMonths),
    .init(
      "es-ar", ".", ",", date: "d/M/y", long: "d 'de' MMMM 'de' y", time: "h:mm\u{202f}a",
      halves: ("a.\u{a0}m.", "p.\u{a0}m."), months: esMonths),
    .init(
      "es-mx", ",", ".", date: "d/M/y", long: "d 'de' MMMM 'de' y", time: "h:mm\u{202f}a", halves: ("a.m.", "p.m."),
      months: esMonths),
    .init("fi", "\u{a0}", ",", minus: "−", date: "d.M.y", long: "d. MMMM y", time: "H.mm", months: fiMonths),
    .init("fr", "\u{202f}", ",", date: "dd/MM/y", long: "d MMMM y", time: "HH:mm", months: frMonths),
    .init("fr-ca", "\u{a0}", ",", date: "y-MM-dd", long: "d MMMM y", time: "HH:mm", months: frMonths),
    .init("fr-ch", "\u{202f}", ",", date: "dd.MM.y", long: "d MMMM y", time: "HH:mm", months: frMonths),
    .init("he", ",", ".", minus: "\u{200e}-", date: "d.M.y", long: "d בMMMM y", time: "H:mm", months: heMonths),
    .init(
      "hi", ",", ".", grouping: .indian, date: "d/M/y", long: "d MMMM y", time: "a h:mm", halves: ("पू", "अ"),
      months: hiMonths),
    .init("hr", ".", ",", minus: "−", date: "dd. MM. y.", long: "d. MMMM y.", time: "HH:mm", months: hrMonths),
    .init(
      "hu", "\u{a0}", ",", grouping: .fromTenThousand, date: "y. MM. dd.", long: "y. MMMM d.", time: "H:mm",
      months: huMonths),
    .init("id", ".", ",", date: "d/M/y", long: "d MMMM y", time: "HH.mm", months: idMonths),
    .init(
      "it", ".", ",", grouping: .fromTenThousand, date: "dd/MM/y", long: "d MMMM y", time: "HH:mm", months: itMonths),
    .init(
      "it-ch", "\u{2019}", ".", grouping: .fromTenThousand, date: "dd/MM/y", long: "d MMMM y", time: "HH:mm",
      months: itMonths),
    .init("ja", ",", ".", date: "y/M/d", long: "y年M月d日", time: "H:mm"),
    .init("ko", ",", ".", date: "y. M. d.", long: "y년 MMMM d일", time: "a h:mm", halves: ("오전", "오후"), months: koMonths),
    .init(
      "ms", ",", ".", date: "d/M/y", long: "d MMMM y", time: "h:mm\u{202f}a", halves: ("PG", "PTG"), months: msMonths),
    .init("nb", "\u{a0}", ",", minus: "−", date: "d.M.y", long: "d. MMMM y", time: "HH:mm", months: nbMonths),
    .init("nl", ".", ",", date: "d-M-y", long: "d MMMM y", time: "HH:mm", months: nlMonths),
    .init("nl-be", ".", ",", date: "d/M/y", long: "d MMMM y", time: "HH:mm", months: nlMonths),
    .init("no", "\u{a0}", ",", minus: "−", date: "d.M.y", long: "d. MMMM y", time: "HH:mm", months: nbMonths),
    .init(
      "pl", "\u{a0}", ",", grouping: .fromTenThousand, date: "d.MM.y", long: "d MMMM y", time: "HH:mm", months: plMonths
    ),
    .init("pt", ".", ",", date: "dd/MM/y", long: "d 'de' MMMM 'de' y", time: "HH:mm", months: ptMonths),
    .init(
      "pt-pt", "\u{a0}", ",", grouping: .fromTenThousand, date: "dd/MM/y", long: "d 'de' MMMM 'de' y", time: "HH:mm",
      months: ptMonths),
    .init("ro", ".", ",", date: "dd.MM.y", long: "d MMMM y", time: "HH:mm", months: roMonths),
    .init("ru", "\u{a0}", ",", date: "dd.MM.y", long: "d MMMM y\u{202f}'г'.", time: "HH:mm", months: ruMonths),
    .init("sk", "\u{a0}", ",", date: "d.\u{202f}M.\u{202f}y", long: "d. MMMM y", time: "H:mm", months: skMonths),
    .init("sv", "\u{a0}", ",", minus: "−", date: "y-MM-dd", long: "d MMMM y", time: "HH:mm", months: svMonths),
    .init("tr", ".", ",", date: "d.MM.y", long: "d MMMM y", time: "HH:mm", months: trMonths),
    .init("uk", "\u{a0}", ",", date: "dd.MM.y", long: "d MMMM y\u{202f}'р'.", time: "HH:mm", months: ukMonths),
    .init("vi", ".", ",", date: "d/M/y", long: "'ngày' d MMMM, y", time: "HH:mm", months: viMonths),
    .init("zh", ",", ".", date: "y/M/d", long: "y年M月d日", time: "HH:mm"),
    .init("zh-hant", ",", ".", date: "y/M/d", long: "y年M月d日", time: "ah:mm", halves: ("上午", "下午")),
    .init("zh-hk", ",", ".", date: "d/M/y", long: "y年M月d日", time: "ah:mm", halves: ("上午", "下午")),
  ]

  private static let arMonths =
    "يناير|فبراير|مارس|أبريل|مايو|يونيو|يوليو|أغسطس|سبتمبر|أكتوبر|نوفمبر|ديسمبر"
  private static let bgMonths =
    "януари|февруари|март|април|май|юни|юли|август|септември|октомври|ноември|декември"
  private static let caMonths =
    "de gener|de febrer|de març|d\u{2019}abril|de maig|de juny|de juliol|d\u{2019}agost|de setembre|d\u{2019}octubre|de novembre|de desembre"
  private static let csMonths =
    "ledna|února|března|dubna|května|června|července|srpna|září|října|listopadu|prosince"
  private static let daMonths =
    "januar|februar|marts|april|maj|juni|juli|august|september|oktober|november|december"
  private static let deMonths =
    "Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
  private static let deATMonths =
    "Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
  private static let elMonths =
    "Ιανουαρίου|Φεβρουαρίου|Μαρτίου|Απριλίου|Μαΐου|Ιουνίου|Ιουλίου|Αυγούστου|Σεπτεμβρίου|Οκτωβρίου|Νοεμβρίου|Δεκεμβρίου"
  private static let enMonths =
    "January|February|March|April|May|June|July|August|September|October|November|December"
  private static let esMonths =
    "enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
  private static let fiMonths =
    "tammikuuta|helmikuuta|maaliskuuta|huhtikuuta|toukokuuta|kesäkuuta|heinäkuuta|elokuuta|syyskuuta|lokakuuta|marraskuuta|joulukuuta"
  private static let frMonths =
    "janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre"
  private static let heMonths =
    "ינואר|פברואר|מרץ|אפריל|מאי|יוני|יולי|אוגוסט|ספטמבר|אוקטובר|נובמבר|דצמבר"
  private static let hiMonths =
    "जनवरी|फ़रवरी|मार्च|अप्रैल|मई|जून|जुलाई|अगस्त|सितंबर|अक्तूबर|नवंबर|दिसंबर"
  private static let hrMonths =
    "siječnja|veljače|ožujka|travnja|svibnja|lipnja|srpnja|kolovoza|rujna|listopada|studenoga|prosinca"
  private static let huMonths =
    "január|február|március|április|május|június|július|augusztus|szeptember|október|november|december"
  private static let idMonths =
    "Januari|Februari|Maret|April|Mei|Juni|Juli|Agustus|September|Oktober|November|Desember"
  private static let itMonths =
    "gennaio|febbraio|marzo|aprile|maggio|giugno|luglio|agosto|settembre|ottobre|novembre|dicembre"
  private static let koMonths =
    "1월|2월|3월|4월|5월|6월|7월|8월|9월|10월|11월|12월"
  private static let msMonths =
    "Januari|Februari|Mac|April|Mei|Jun|Julai|Ogos|September|Oktober|November|Disember"
  private static let nbMonths =
    "januar|februar|mars|april|mai|juni|juli|august|september|oktober|november|desember"
  private static let nlMonths =
    "januari|februari|maart|april|mei|juni|juli|augustus|september|oktober|november|december"
  private static let plMonths =
    "stycznia|lutego|marca|kwietnia|maja|czerwca|lipca|sierpnia|września|października|listopada|grudnia"
  private static let ptMonths =
    "janeiro|fevereiro|março|abril|maio|junho|julho|agosto|setembro|outubro|novembro|dezembro"
  private static let roMonths =
    "ianuarie|februarie|martie|aprilie|mai|iunie|iulie|august|septembrie|octombrie|noiembrie|decembrie"
  private static let ruMonths =
    "января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря"
  private static let skMonths =
    "januára|februára|marca|apríla|mája|júna|júla|augusta|septembra|októbra|novembra|decembra"
  private static let svMonths =
    "januari|februari|mars|april|maj|juni|juli|augusti|september|oktober|november|december"
  private static let trMonths =
    "Ocak|Şubat|Mart|Nisan|Mayıs|Haziran|Temmuz|Ağustos|Eylül|Ekim|Kasım|Aralık"
  private static let ukMonths =
    "січня|лютого|березня|квітня|травня|червня|липня|серпня|вересня|жовтня|листопада|грудня"
  private static let viMonths =
    "tháng 1|tháng 2|tháng 3|tháng 4|tháng 5|tháng 6|tháng 7|tháng 8|tháng 9|tháng 10|tháng 11|tháng 12"
}
