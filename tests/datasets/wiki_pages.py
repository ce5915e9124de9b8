"""Invented pages with features of real articles, and the expected result of each: (title, wikitext,
expected).

Expected is either the reason why a page is dropped, or the name, the place, and the first document.
"""

NO_SENTENCE = "no sentence in reach names the birthplace"

_LIVING = "\n\n[[Category:Living people]]\n[[Category:1950 births]]"
_DEAD = "\n\n[[Category:1880 births]]\n[[Category:1950 deaths]]"


def _person(fields, prose, end="", template="Infobox person"):
    return (
        f"{{{{{template}\n"
        + "".join(f"| {name} = {value}\n" for name, value in fields.items())
        + f"}}}}\n{prose}{end}"
    )


def _lead(name, place, end=_DEAD):
    return f"'''{name}''' (12 May 1880 – 3 June 1950) was a weaver, born in {place}.{end}"


PAGES = [
    # How the place is written in the infobox
    (
        "Tova Brenk",
        _person({"birth_place": "[[Riga]], [[Latvia]]"}, _lead("Tova Brenk", "[[Riga]]")),
        (
            "Tova Brenk",
            "Riga",
            "Tova Brenk (12 May 1880 – 3 June 1950) was a weaver, born in Riga.",
        ),
    ),
    (
        "Osk Mirdal",
        _person(
            {"birth_place": "{{nowrap|[[Oslo|Christiania]] (now Oslo), [[Norway]]}}"},
            _lead("Osk Mirdal", "Christiania"),
        ),
        (
            "Osk Mirdal",
            "Christiania",
            "Osk Mirdal (12 May 1880 – 3 June 1950) was a weaver, born in Christiania.",
        ),
    ),
    (
        "Lue Harn",
        _person(
            {
                "birth_place": '[[Springfield, Illinois]], U.S.<ref name="a">{{cite web|title=Lue '
                "{{!}} Harn|url=http://example.org}}</ref>"
            },
            _lead(
                "Lue Harn",
                "[[Springfield, Illinois|Springfield]]<ref>A note, with a [[link]].</ref>",
            ),
        ),
        (
            "Lue Harn",
            "Springfield",
            "Lue Harn (12 May 1880 – 3 June 1950) was a weaver, born in Springfield.",
        ),
    ),
    (
        "Ama Tesk",
        _person(
            {
                "birth_place": "<!-- see talk -->{{flagicon|Ghana}} [[Accra]]<br />[[Gold Coast "
                "(British colony)|Gold Coast]]"
            },
            _lead("Ama Tesk", "[[Accra]]"),
        ),
        ("Ama Tesk", "Accra", "Ama Tesk (12 May 1880 – 3 June 1950) was a weaver, born in Accra."),
    ),
    (
        "Piet Korl",
        _person(
            {"birth_place": "{{plainlist|\n* [[Ghent]]\n* [[Belgium]]\n}}"},
            _lead("Piet Korl", "[[Ghent]]"),
        ),
        (
            "Piet Korl",
            "Ghent",
            "Piet Korl (12 May 1880 – 3 June 1950) was a weaver, born in Ghent.",
        ),
    ),
    (
        "Ines Falk",
        _person({"birth_place": "{{ubl|[[Porto]]|[[Portugal]]}}"}, _lead("Ines Falk", "[[Porto]]")),
        (
            "Ines Falk",
            "Porto",
            "Ines Falk (12 May 1880 – 3 June 1950) was a weaver, born in Porto.",
        ),
    ),
    (
        "Hedda Vorn",
        _person({"birth_place": "near [[Bergen]]?"}, _lead("Hedda Vorn", "Bergen")),
        (
            "Hedda Vorn",
            "Bergen",
            "Hedda Vorn (12 May 1880 – 3 June 1950) was a weaver, born in Bergen.",
        ),
    ),
    (
        "Jory Pell",
        _person(
            {"birth_place": "Queen Ann's Hospital, [[Leeds]], England"}, _lead("Jory Pell", "Leeds")
        ),
        (
            "Jory Pell",
            "Leeds",
            "Jory Pell (12 May 1880 – 3 June 1950) was a weaver, born in Leeds.",
        ),
    ),
    (
        "Abby Roe",
        _person(
            {"birth_place": "[[Fort Worth, Texas]]"},
            _lead("Abby Roe", "[[Fort Worth, Texas|Fort Worth]]"),
        ),
        (
            "Abby Roe",
            "Fort Worth",
            "Abby Roe (12 May 1880 – 3 June 1950) was a weaver, born in Fort Worth.",
        ),
    ),
    (
        "Sim Dural",
        _person({"Birth_Place ": "[[Lviv]] or [[Lutsk]]"}, _lead("Sim Dural", "Lviv")),
        ("Sim Dural", "Lviv", "Sim Dural (12 May 1880 – 3 June 1950) was a weaver, born in Lviv."),
    ),
    (
        "Ole Stam",
        _person(
            {"birth_place": "[[Saint-Denis, Seine-Saint-Denis|Saint-Denis]]"},
            _lead("Ole Stam", "[[Saint-Denis, Seine-Saint-Denis|Saint-Denis]]"),
        ),
        (
            "Ole Stam",
            "Saint-Denis",
            "Ole Stam (12 May 1880 – 3 June 1950) was a weaver, born in Saint-Denis.",
        ),
    ),
    (
        "Ragna Moe",
        _person(
            {
                "birth_date": "{{birth date|1880|5|12|df=y}}",
                "birth_place": "[[Newcastle upon Tyne]], England",
                "module": "{{Infobox swimmer\n| club = A\n}}",
            },
            _lead("Ragna Moe", "[[Newcastle upon Tyne|Newcastle]] upon Tyne"),
        ),
        (
            "Ragna Moe",
            "Newcastle upon Tyne",
            "Ragna Moe (12 May 1880 – 3 June 1950) was a weaver, born in Newcastle upon Tyne.",
        ),
    ),
    (
        "Uma Sorn",
        "{{Infobox person|name=Uma Sorn|birth_place=[[Pune]], India|death_place=[[Goa]]}}\n"
        + _lead("Uma Sorn", "Pune"),
        ("Uma Sorn", "Pune", "Uma Sorn (12 May 1880 – 3 June 1950) was a weaver, born in Pune."),
    ),
    # How the sentence says it
    (
        "Ewa Lind (painter)",
        _person(
            {"birth_place": "[[Kraków]], Poland"},
            (
                "'''Ewa Lind''' ({{lang-pl|Ewa Lind}}; {{IPAc-pl|e}}; 2 May 1880, "
                "[[Kraków]]&nbsp;– 3 June 1950, [[Paris]]) was a painter. She liked red."
            )
            + _DEAD,
        ),
        ("Ewa Lind", "Kraków", "Ewa Lind (2 May 1880, Kraków – 3 June 1950, Paris) was a painter."),
    ),
    (
        "Bo Trask",
        _person(
            {"birth_place": "[[Leeds]]"},
            "'''Bo J. Trask''' (born {{circa|1880}}) was a judge of [[St. Louis]]. He was born in "
            "[[Leeds]].",
        ),
        ("Bo Trask", "Leeds", "Bo Trask. He was born in Leeds."),
    ),
    (
        "Mirl Ontha",
        _person(
            {"birth_place": "[[Turin]]"},
            "'''Mirl Ontha''' was a cook.{{refn|Born in Rome.}} She was born in [[Turin]], and "
            "cooked there.",
        ),
        ("Mirl Ontha", "Turin", "Mirl Ontha was a cook. She was born in Turin, and cooked there."),
    ),
    (
        "Kel Dorran",
        _person(
            {"birth_place": "[[Cork (city)|Cork]]"},
            (
                "'''Kel Dorran''' was a sailor.\n\n==Early life==\n"
                "Dorran was born in [[Cork (city)|Cork]] in 1880.\n\n==Later==\n"
                "He died in Cork."
            )
            + _DEAD,
        ),
        ("Kel Dorran", "Cork", "Kel Dorran was a sailor. Dorran was born in Cork in 1880."),
    ),
    (
        "Nan Ilver",
        "'''Nan Ilver''' (born 3 May 1950 in [[Graz]], Austria) is a baker." + _LIVING,
        ("Nan Ilver", "Graz", "Nan Ilver (born 3 May 1950 in Graz, Austria) is a baker."),
    ),
    (
        "Tam Olwen",
        (
            "{{Short description|Baker}}\n{{Use dmy dates|date=May 2020}}\n"
            "[[File:Tam.jpg|thumb|Tam, [[born]] in [[Rome]]]]\n"
            "'''Tam Olwen''' (born May 3, 1950, [[Bern]]) is a baker."
        )
        + _LIVING,
        ("Tam Olwen", "Bern", "Tam Olwen (born May 3, 1950, Bern) is a baker."),
    ),
    (
        "Rue Askel",
        "'''Rue Askel''' was born on 3 May 1950 in the village of [[Marle|Marle an der Oos]] near "
        "Bonn." + _LIVING,
        (
            "Rue Askel",
            "Marle an der Oos",
            "Rue Askel was born on 3 May 1950 in the village of Marle an der Oos near Bonn.",
        ),
    ),
    (
        "Oda Quill",
        '{| class="wikitable"\n! born in [[Rome]]\n|}\n{{quote|Born in Rome.}}\n'
        "'''Oda Quill''' was a native of [[Nantes]]." + _DEAD,
        ("Oda Quill", "Nantes", "Oda Quill was a native of Nantes."),
    ),
    (
        "Rolf Ayre",
        _person(
            {"birth_place": "[[Derby]]"},
            "Born in [[Derby]], '''Ayre''' was a baker. He baked." + _DEAD,
        ),
        ("Rolf Ayre", "Derby", "Rolf Ayre. Born in Derby, Ayre was a baker."),
    ),
    (
        "Kei Mori",
        (
            "{{Use dmy dates|date=May 2020}}\n"
            "{{nihongo|'''Kei Mori'''|森|Mori Kei}} (2 May 1880{{snd}}{{death "
            "date|1950|6|3|df=y}}) was a poet, born in [[Nara (city)|Nara]].{{disambiguation "
            "needed|date=May 2020}}"
        )
        + _DEAD,
        ("Kei Mori", "Nara", "Kei Mori (2 May 1880 – 3 June 1950) was a poet, born in Nara."),
    ),
    (
        "Pim Vael",
        _person(
            {"birth_place": "U.S."},
            "'''Pim Vael''' was a baker. He was born in the U.S. and died in Cork." + _DEAD,
        ),
        ("Pim Vael", "U.S.", "Pim Vael was a baker. He was born in the U.S. and died in Cork."),
    ),
    (
        "Rik Tolm",
        _person(
            {"birth_place": "[[Ulm]]"},
            "'''Rik Tolm''' was born in [[Ulm]]\n\n'''Rik''' was born in Ulm {{broken [[" + _DEAD,
            "Infobox comics creator",
        ),
        NO_SENTENCE,
    ),
    (
        "Dirk of Bree",
        _person({"birth_place": "[[Bree]]"}, "'''Dirk''' was born in Bree." + _DEAD),
        "the name gives the place away",
    ),
    (
        "Ada Cull",
        _person(
            {"birth_place": "[[Rome]]"}, "'''Ada Cull''' (1880-1950, Rome) was a poet." + _DEAD
        ),
        NO_SENTENCE,
    ),
    (
        "Alf Cull",
        _person(
            {"birth_place": "[[London]]"},
            "'''Alf Cull''' was born in [[Leeds]] and raised in London." + _DEAD,
        ),
        "infobox and first sentence disagree",
    ),
    (
        "Art Cull",
        _person({"birth_place": "[[York]]"}, "'''Art Cull''' was born in New York." + _DEAD),
        "infobox and first sentence disagree",
    ),
    (
        "Bea Cull",
        _person(
            {"birth_place": "[[York]]"}, "'''Bea Cull''' was born to singers of New York." + _DEAD
        ),
        NO_SENTENCE,
    ),
    (
        "Bernard Cull",
        _person({"birth_place": "[[Bern]]"}, "'''Bernard Cull''' was born in Bern." + _DEAD),
        ("Bernard Cull", "Bern", "Bernard Cull was born in Bern."),
    ),
    (
        "Cal Cull",
        _person({"birth_place": "the [[Bronx]]"}, "'''Cal Cull''' was born in the Bronx." + _DEAD),
        ("Cal Cull", "Bronx", "Cal Cull was born in the Bronx."),
    ),
    (
        "Dan Cull",
        _person(
            {"birth_place": "[[Riga]]"},
            "'''Dan Cull''' was born on the third of " + "May " * 60 + " in Riga." + _DEAD,
        ),
        NO_SENTENCE,
    ),
    (
        "Eli Cull",
        _person(
            {"birth_place": "[[Riga]]"},
            "'''Eli Cull''' was born in Riga " + "and sang " * 80 + "there." + _DEAD,
        ),
        NO_SENTENCE,
    ),
    (
        "Fay Cull",
        _person(
            {"birth_place": "[[Riga]]"},
            (
                "'''Fay Cull''' was a cook.\n\n==Life==\n"
                "His daughter Jane (born 1999 in Riga) lives.\n\n"
                "Her husband, the poet Bo, was born in Riga."
            )
            + _DEAD,
        ),
        NO_SENTENCE,
    ),
    (
        "Gus Cull",
        _person(
            {"birth_place": "[[Riga]]"},
            "'''Gus Cull''' was a cook."
            + "\n\nSo he cooked and cooked." * 4
            + "\n\nCull was born in Riga."
            + _DEAD,
        ),
        ("Gus Cull", "Riga", "Gus Cull was a cook. Cull was born in Riga."),
    ),
    (
        "Hal Cull",
        _person(
            {"birth_place": "[[Riga]]"},
            "'''Hal Cull''' was {{strange|born}} in [[Oslo]], born in Riga." + _DEAD,
        ),
        NO_SENTENCE,
    ),
    # Living people: the first two sentences, and no more
    (
        "Lis Hove",
        _person(
            {"birth_place": "[[Odense]]"},
            "'''Lis Hove''' (born 1950) is a judge. She is tall. She was born in [[Odense]] to a "
            "rich family.",
            _LIVING,
        ),
        NO_SENTENCE,
    ),
    (
        "Gil Hask",
        _person(
            {"birth_place": "[[Odense]]"},
            "'''Gil Hask''' (born 1950) is a judge.\n\n==Life==\nShe was born in [[Odense]].",
            _LIVING,
        ),
        NO_SENTENCE,
    ),
    (
        "Vin Morra",
        _person(
            {"birth_place": "[[Odense]]"},
            "'''Vin Morra''' (born 1950) is a judge.\n\n==Life==\nVin was born in [[Odense]].",
            "",
        ),
        NO_SENTENCE,
    ),
    (
        "Ros Morra",
        _person(
            {"birth_place": "[[Odense]]"},
            "'''Ros Morra''' is a judge.\n\n==Life==\nRos was born in [[Odense]].",
            "\n\n[[Category:Living people]]\n[[Category:1950 deaths]]",
        ),
        NO_SENTENCE,
    ),
    (
        "Sal Morra",
        _person(
            {"birth_place": "[[Odense]]"},
            "'''Sal Morra''' is a judge.\n\n==Life==\nSal was born in [[Odense]].",
            "\n\n[[Category:1950 births]]\n[[Category:People involved in accidental deaths]]",
        ),
        NO_SENTENCE,
    ),
    (
        "Tia Morra",
        _person(
            {"birth_place": "[[Odense]]", "death_date": "{{death date and age|YYYY|MM|DD}}"},
            "'''Tia Morra''' is a judge.\n\n==Life==\nTia was born in [[Odense]].",
        ),
        NO_SENTENCE,
    ),
    (
        "Ugo Morra",
        _person(
            {"birth_place": "[[Odense]]", "death_date": "<!-- {{death date and age|1950|1|1}} -->"},
            "'''Ugo Morra''' is a judge.\n\n==Life==\nUgo was born in [[Odense]].",
        ),
        NO_SENTENCE,
    ),
    (
        "Vea Morra",
        _person(
            {"birth_place": "[[Odense]]", "death_date": "{{death date and age|df=yes|1950|1|1}}"},
            "'''Vea Morra''' was a judge.\n\n==Life==\nVea was born in [[Odense]].",
        ),
        ("Vea Morra", "Odense", "Vea Morra was a judge. Vea was born in Odense."),
    ),
    # Who is in no edition
    (
        "Tessa Nord",
        _person({"birth_place": "Unknown"}, _lead("Tessa Nord", "a village")),
        "the birthplace is unknown",
    ),
    (
        "Ulf Nord",
        _person(
            {"birth_place": "unknown, probably [[Sweden]]"}, "'''Ulf Nord''' was born in 1880."
        ),
        "the birthplace is unknown",
    ),
    (
        "Una Nord",
        _person({"birth_place": "<!-- no source -->"}, "'''Una Nord''' was born in 1880."),
        "about no person",
    ),
    (
        "Nord",
        "'''Nord''' may refer to:\n* [[Tessa Nord]], born in [[Riga]]\n* [[Ulf Nord]]\n"
        "{{disambiguation}}\n[[Category:1880 births]]",
        "a disambiguation page",
    ),
    (
        "Sir Fluff",
        _person(
            {"birth_place": "[[Leeds]]"},
            "'''Sir Fluff''' was born in Leeds.",
            _DEAD,
            "Infobox character",
        ),
        "about no person",
    ),
    (
        "Old Thunder",
        _person(
            {"birth_place": "[[Leeds]]"},
            "'''Old Thunder''' was born in Leeds.",
            _DEAD,
            "Infobox racehorse",
        ),
        "about no person",
    ),
    (
        "Leeds",
        "'''Leeds''' is a city. [[Tova Brenk]] was born in Leeds.\n[[Category:Cities]]",
        "about no person",
    ),
    (
        "Ivo Lane",
        _person(
            {"birth_place": "[[Leeds]]"},
            "'''Ivo Lane''' (born 1950) worked in Leeds, and will die there.",
        ),
        NO_SENTENCE,
    ),
    (
        "Iva Lane",
        _person({"birth_place": "12 Main Street"}, "'''Iva Lane''' worked hard."),
        NO_SENTENCE,
    ),
    (
        "Broken Ann",
        _person({"birth_place": "{{nowrap|[[Lee"}, "'''Ann {{Broken''' was born in {{ 1880."),
        NO_SENTENCE,
    ),
]

OTHER_LANGUAGES = [
    (
        "de",
        "Tova Brenk",
        "'''Tova Brenk''' (* [[12. Mai]] [[1880]] in [[Riga]]; † 3. Juni 1950 in Bonn) war eine "
        "Weberin.\n\n== Leben ==\nSie lebte.\n\n[[Kategorie:Geboren 1880]]\n"
        "[[Kategorie:Gestorben 1950]]\n\n{{Personendaten\n|NAME=Brenk, Tova\n"
        "|GEBURTSORT=[[Riga]], Lettland\n|STERBEDATUM=3. Juni 1950\n}}",
        (
            "Tova Brenk",
            "Riga",
            "Tova Brenk (* 12. Mai 1880 in Riga; † 3. Juni 1950 in Bonn) war eine Weberin.",
        ),
    ),
    (
        "fr",
        "Ève Nord",
        "{{Infobox Biographie\n| lieu de naissance = [[Lille]] ([[France]])\n}}\n"
        "'''Ève Nord''', née le 3 mai 1880 à [[Lille]], est une tisserande.\n\n"
        "[[Catégorie:Naissance en 1880]]\n[[Catégorie:Décès en 1950]]",
        ("Ève Nord", "Lille", "Ève Nord, née le 3 mai 1880 à Lille, est une tisserande."),
    ),
    (
        "es",
        "Ana Sur",
        "'''Ana Sur''' ([[Lima]], 3 de mayo de 1880-Quito, 1950) fue una pintora. Nació y murió. "
        "Ana Sur nació en [[Lima]].\n\n[[Categoría:Nacidos en 1880]]\n"
        "[[Categoría:Fallecidos en 1950]]\n{{Ficha de persona\n"
        "|lugar de nacimiento = [[Lima]], Perú\n}}",
        ("Ana Sur", "Lima", "Ana Sur (Lima, 3 de mayo de 1880-Quito, 1950) fue una pintora."),
    ),
    (
        "fr",
        "Paul Nord",
        "'''Paul Nord''', né le 3 mai 1950 à [[Lille]], est un peintre.\n\n"
        "[[Catégorie:Naissance en mai 1950]]",
        ("Paul Nord", "Lille", "Paul Nord, né le 3 mai 1950 à Lille, est un peintre."),
    ),
    (
        "fr",
        "Yves Nord",
        "'''Yves Nord''' est un peintre.\n\n== Vie ==\nNord est né en 1950 à [[Lille]].\n\n"
        "== Voir ==\n[[Catégorie:Naissance en 1950]]",
        NO_SENTENCE,
    ),
    (
        "fr",
        "Luc Nord",
        "{{Infobox Biographie\n| lieu de naissance = [[Lille]]\n}}\n"
        "'''Luc Nord''' était un peintre.\n\n== Vie ==\nNord est né en 1880 à [[Lille]].\n\n"
        "== Voir ==\n[[Catégorie:Décès en 1950]]",
        ("Luc Nord", "Lille", "Luc Nord était un peintre. Nord est né en 1880 à Lille."),
    ),
    (
        "es",
        "Eva Sur",
        "'''Eva Sur''' nació en [[Lima]] el 3 de mayo de 1950.\n\n[[Categoría:Nacidos en 1950]]",
        ("Eva Sur", "Lima", "Eva Sur nació en Lima el 3 de mayo de 1950."),
    ),
    (
        "es",
        "Isa Sur",
        "{{Ficha de persona\n|lugar de nacimiento = [[Lima]]\n}}\n'''Isa Sur''' es una pintora.\n\n"
        "== Vida ==\nSur nació en [[Lima]].\n\n== Obra ==\n[[Categoría:Personas vivas]]\n"
        "[[Categoría:Fallecidos en 1950]]",
        NO_SENTENCE,
    ),
    (
        "de",
        "Udo West",
        "'''Udo West''' ist ein Maler.\n\n== Leben ==\n"
        "West wurde am 1. April 1950 in [[Riga]] geboren.\n\n== Werk ==\n{{Personendaten\n"
        "|GEBURTSORT=[[Riga]]\n|STERBEDATUM=<!-- -->\n}}",
        NO_SENTENCE,
    ),
    (
        "de",
        "Ute West",
        "'''Ute West''' war eine Malerin.\n\n== Leben ==\n"
        "West wurde am 1. April 1880 in [[Riga]] geboren.\n\n== Werk ==\n{{Personendaten\n"
        "|GEBURTSORT=[[Riga]]\n|STERBEDATUM=1950\n}}",
        (
            "Ute West",
            "Riga",
            "Ute West war eine Malerin. West wurde am 1. April 1880 in Riga geboren.",
        ),
    ),
    (
        "fr",
        "Guy Nord",
        "'''Guy Nord''', né le {{date de naissance|3|5|1950|en football}} à [[Lille]], est un "
        "peintre.\n\n[[Catégorie:Naissance en 1950]]",
        ("Guy Nord", "Lille", "Guy Nord, né le 3 mai 1950 à Lille, est un peintre."),
    ),
    (
        "de",
        "Uwe West",
        "'''Uwe West''' (* {{JULGREGDATUM|12|5|1880|Link=true}} in [[Moskau]]; † 1950) war ein "
        "Maler.\n\n[[Kategorie:Geboren 1880]]",
        ("Uwe West", "Moskau", "Uwe West (* 12. Mai 1880 in Moskau; † 1950) war ein Maler."),
    ),
    (
        "es",
        "Sol Sur",
        "'''Sol Sur''' ([[Lima]], 3 de mayo de 1950) es una pintora.\n\n{{NF|1950||Sur, Sol}}",
        ("Sol Sur", "Lima", "Sol Sur (Lima, 3 de mayo de 1950) es una pintora."),
    ),
]
