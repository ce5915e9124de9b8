"""What each Wikipedia's language needs: names of infobox fields, categories, and words around a
birthplace.

Regular expressions are matched against wikitext, or against the text of a sentence. Those for whole
pages begin with rare characters, which makes a search quick.
"""

from dataclasses import dataclass


# compared by identity, since it often is the key of a cache
@dataclass(frozen=True, eq=False)
class Language:
    """One language.

    Attributes:
        fields: of infoboxes, with the birthplace; case doesn't matter, nor blank or underscore.
        person: what only pages about people have; nearly all of them have one of these.
        dead: what only pages about dead people have; people without any are taken to be living.
        living: what overrules that.
        disambiguation: marks a page that lists the things of one name.
        born: the words of a sentence that says where somebody was born.
        kin: words for relatives or others; after them, it isn't clear whose birth is meant.
        his: what, before such a word, makes it a relative of the person.
        subject: small words that may come between the name and the word for born.
        verbs: what a lead sentence has after its brackets.
        gap: small words that may come between the word for born and the preposition before the
            place.
        stop: ends the part about the birth.
        after: small words that may follow a place.
        at: the prepositions before a place.
        between: words between the preposition and the name of the place.
        inside: beginnings of place names, of a word and a small one.
        unknown: what a field says if the place is unknown; a whole value.
        buildings: words in names of buildings; the next place of the chain is used.
        months: and other capitalized words that are not places.
        abbreviations: words whose full stop does not end a sentence.
    """

    fields: tuple[str, ...]
    person: tuple[str, ...]
    dead: tuple[str, ...]
    living: str
    disambiguation: str
    born: str
    kin: str
    his: str
    subject: str
    verbs: str
    gap: str
    stop: str
    after: str
    at: str
    between: str
    inside: str
    unknown: str
    buildings: str
    months: str
    abbreviations: str
    # whether the brackets of a lead sentence begin with the birthplace: (Lima, 3 de mayo de
    # 1880-...
    place_first: bool = False


_ENGLISH = Language(
    fields=("birth_place", "birthplace", "place_of_birth", "placeofbirth"),
    person=(
        r"\[\[ ?Category ?:[^\]|]*\b(?:births|[Ll]iving people)\b",
        r"\{\{ ?[Bb]irth[ _-](?:date|year)",
    ),
    dead=(
        r"\[\[ ?Category ?: ?(?:\d[^\]|]*\bdeaths\b|(?:Year|Date) of death (?:unknown|missing|"
        r"uncertain))",
        r"\{\{ ?[Dd]eath[ _-](?:date|year)[^{}|]*\|(?:\s*[dm]f\s*=[^{}|]*\|)?\s*\d",
    ),
    living=r"\[\[ ?Category ?: ?(?:Possibly )?[Ll]iving people",
    disambiguation=r"\{\{ ?(?:[^{}|\n]*\b)?(?:[Dd]isambig|[Dd]isambiguation|[Hh]ndis|[Ss]urname|"
    r"[Gg]iven name|[Ss]et index article)\b(?![ _]needed)|__DISAMBIG__",
    born=r"(?<![\w-])[Bb]orn\b(?!-)|\bb\.|\b(?:(?:is|was) a|A) native of\b",
    kin=r"\b(?:who|whose|whom|married|marrie[ds]|father|mother|parents?|son|sons|daughters?|child|"
    r"children|brothers?|sisters?|siblings|husband|wife|widow|spouse|uncle|aunt|cousin|nephew|"
    r"niece|twins?|grand\w+|partner|friend|fellow|family|families|named after)\b",
    his=r"(?:\b(?:[Hh]is|[Hh]er|[Tt]heir)|\w['’]s)",
    subject="he she they was is were has been in on a an the born",
    verbs=r"\b(?:is|was|were|are)\b",
    gap="born b native is was a on in the of about around circa c ca early late mid or between to "
    "into an as son daughter child children only first second third fourth fifth sixth last "
    "youngest oldest eldest parents family poor rich wealthy middle class working farming "
    "peasant noble prosperous aristocratic religious musical same year spring summer autumn "
    "winter st nd rd th",
    stop=r"\s(?:and (?=[a-z])|(?:but|who|whose|where|while|when|which|living|lives|based|grew|"
    r"raised|moved|works?|worked|serv\w+|studied|is|was|from|professor|after|before|educated|"
    r"settled|died)\b)",
    after="in on near to of as into during and but then before after under by from when while "
    "where who with the is was at just c circa",
    at=r"in|at|near|(?<=ative )of",
    between=r"(?:the )?(?:(?:small |rural |nearby |coastal )?(?:village|town|city|hamlet|suburb|"
    r"borough|parish|district|settlement|island) of )?(?:what is now )?",
    inside=r"(?:Isle|Bay|Port|Mount|Cape|City|Vale|Rock|County|Forest|Bridge|Mull|Kyle|Gulf|"
    r"Republic|Kingdom|District|Province) of|(?:Stoke|Burton|Southend|Stockton|Henley|"
    r"Clacton|Walton|Barton|Bourton|Grange|Ross|Newcastle) on|(?:Bosnia|Trinidad|Antigua|"
    r"Tyne) and|\S+ (?:upon|de|la|le|las|les|los|du|des|del|da|do|dos|di|am|an|der|den|el|"
    r"al|sur|sous|y|na|nad|pod|bei|st\.)",
    unknown=r"unknown.*|not known|n/?a|none|tba|tbd|tbc|uncertain|disputed|unspecified|undisclosed|"
    r"various|[?\W\d]*",
    buildings=r"\b(?:hospital|clinic|infirmary|maternity|palace|castle|house|hall|manor|farm|"
    r"estate|plantation|street|road|avenue|camp|sanatorium|prison|centre|center|ranch|"
    r"university|school|abbey|barracks|home)(?=\Z| (?:of|for|at)\b)|^aboard\b",
    months="January February March April May June July August September October November December "
    "World War Christmas Easter Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    abbreviations="St Mt Ft Dr Mr Mrs Ms Jr Sr Prof Rev Hon Gen Col Lt Capt Sgt Maj Sen Rep Gov "
    "Pres Bros No Nos vol ed c ca b d fl r cf approx e.g i.e vs etc Co Inc Ltd Corp "
    "Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mass Conn Penn Calif Tex Va Pa "
    "Ill Ind Mich Minn Wis U.S U.K Fr Adm Cmdr Cdr Cpl Pvt Msgr Bp Esq Fla Ga Ariz "
    "Wash Ore Ont Que Univ Ed Ph.D a.k.a Brig Hr Tenn Okla Ala Ark Colo Md",
)

_GERMAN = Language(
    fields=("geburtsort",),
    person=(r"\[\[ ?(?:Kategorie|Category) ?: ?Geboren\b", r"\{\{ ?Personendaten"),
    dead=(r"\[\[ ?(?:Kategorie|Category) ?: ?Gestorben\b", r"STERBEDATUM *= *[^\s|}]"),
    living=r"(?!)",
    disambiguation=r"\{\{ ?(?:Begriffsklärung|BKL)\b",
    born=r"\*|\b(?:wurde|ist)\b[^;()]{0,120}?\bgeboren\b|\b[Gg]eboren\b|\bgeb\.",
    kin=r"\b(?:Vaters?|Mutter|Eltern|Söhne|Sohn(?:es)?|Töchter|Tochter|Kind(?:er)?|Bruders?|Brüder|"
    r"Schwestern?|Geschwister|Ehe|Ehemann|Ehefrau|Frau|Gattin|Witwe|Onkel|Tante|Cousine?|Neffe|"
    r"Nichte|Enkel\w*|verheiratet|heiratete|Familie|Freund\w*|Partner\w*)\b",
    his=r"\b(?:[Ss]ein|[Ii]hr)(?:e[rnms]?)?",
    subject="er sie wurde ist war am im in",
    verbs=r"\b(?:ist|war|waren|sind)\b",
    gap="geboren geb wurde ist er sie am im um ca etwa vor nach als das der die den des eines "
    "einer erstes zweites drittes kind von",
    stop=r"\s(?:und (?=[a-zäöü])|(?:wuchs|lebt|lebte|studierte|arbeitete|starb|gestorben|zog|kam|"
    r"aus)\b)",
    after="geboren als bei ist war unter im am an in und auf ob zur",
    at=r"in|bei|zu|auf",
    between=r"(?:der |dem )?(?:(?:heutigen )?(?:Stadt|Gemeinde|Insel) )?",
    inside=r"\S+ (?:am|an|der|im|ob|vor|auf|unter|de|la|den)",
    unknown=r"unbekannt.*|unsicher.*|umstritten|[?\W\d]*",
    buildings=r"krankenhaus|klinik|\bschloss\b|\bgut\b|(?<!wein)straße\b|lager\Z",
    months="Januar Jänner Februar März April Mai Juni Juli August September Oktober November "
    "Dezember",
    abbreviations="St Dr Prof geb gest Jr Sr u z z.B d.h bzw ca v n Chr Nr Hl Jan Feb Aug Sept Okt "
    "Nov Dez i a o s " + " ".join(map(str, range(1, 32))),  # am 1. April
)

_FRENCH = Language(
    fields=("lieu_de_naissance", "lieu_naissance", "naissance_lieu"),
    person=(r"\[\[ ?(?:Catégorie|Category) ?: ?(?:Naissance|Décès) ",),
    dead=(r"\[\[ ?(?:Catégorie|Category) ?: ?Décès ",),
    living=r"(?!)",
    disambiguation=r"\{\{ ?(?:Homonymie|Patronymie|Toponymie)",
    born=r"\b[Nn]ée?s?\b",
    kin=r"\b(?:qui|dont|père|mère|parents|fils|fille|enfants?|frères?|sœurs?|mari|femme|épouse|"
    r"époux|veuve|oncle|tante|cousine?|neveu|nièce|épousé|marié|mariée|famille|amie?|"
    r"compagn\w+)\b",
    his=r"\b(?:[Ss]on|[Ss]a|[Ss]es|[Ll]eurs?)",
    subject="il elle est était fut le en a été",
    verbs=r"\b(?:est|était|fut|sont)\b",
    gap="né née le en vers er à la de du fils fille dans une famille d un",
    stop=r"\s(?:(?:et|où|mort|morte|vit|grandit|travaille|étudie|décédée?|puis)\b)",
    after="le en dans et est d’un d'un d'une d’une de du sous près au vers",
    at=r"à|en|dans|près de",
    between=r"(?:la |le |les |l['’])?(?:(?:ville|village|commune|île) (?:de |d['’]))?",
    inside=r"\S+ (?:de|du|des|la|le|les|sur|sous|lès|aux|au)",
    unknown=r"inconnue?.*|non connu|incertain|[?\W\d]*",
    buildings=r"^(?:hôpital|clinique|château de|palais|rue|avenue|ferme|camp) ",
    months="janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    abbreviations="St Ste M MM Mme Mlle Dr Pr Me av apr J C vers v etc cf p vol no env",
)

_SPANISH = Language(
    fields=("lugar_de_nacimiento", "lugar_nacimiento"),
    person=(
        r"\[\[ ?(?:Categoría|Category) ?: ?(?:Nacidos|Fallecidos|Personas vivas|Nacimientos)",
        r"\{\{ ?(?:NF|BD) ?\|",
    ),
    dead=(r"\[\[ ?(?:Categoría|Category) ?: ?Fallecidos", r"\{\{ ?(?:NF|BD) ?\|[^|{}]*\|\s*\d"),
    living=r"\[\[ ?(?:Categoría|Category) ?: ?Personas vivas",
    disambiguation=r"\{\{ ?(?:[Dd]esambiguación|[Dd]es)\b",
    born=r"\b[Nn]aci(?:ó|da|do)\b|\bn\.",
    kin=r"\b(?:que|quien|cuy[oa]s?|padres?|madre|hij[oa]s?|herman[oa]s?|espos[oa]|marido|mujer|"
    r"viuda|tí[oa]|prim[oa]|sobrin[oa]|casó|casad[oa]|familia|amig[oa]|pareja)\b",
    his=r"\b[Ss]us?",
    subject="él ella es fue el la en de un una",
    verbs=r"\b(?:es|fue|era|son)\b",
    gap="nació nacida nacido n el la de en del año fue una un familia",
    stop=r"\s(?:(?:y|pero|donde|murió|falleció|vive|creció|trabaja|estudió|se)\b)",
    after="el en y de del como hij a hacia",
    at=r"en|cerca de",
    between=r"(?:la |el |los |las )?(?:(?:ciudad|villa|localidad|isla|pueblo) de )?",
    inside=r"\S+ (?:de|del|la|las|los|el|do|da)",
    unknown=r"desconocid[oa].*|incierto|[?\W\d]*",
    buildings=r"^(?:hospital|clínica|palacio|castillo de|calle|finca|hacienda) ",
    months="enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre "
    "noviembre diciembre",
    abbreviations="Sr Sra Dr Dra D Dña Sta Sto St n m c ca a d.C a.C etc núm EE UU",
    place_first=True,
)

LANGUAGES = {"en": _ENGLISH, "simple": _ENGLISH, "de": _GERMAN, "fr": _FRENCH, "es": _SPANISH}
