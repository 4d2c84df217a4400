"""Words of four languages, common ones often and rare ones seldom, as in written text.

Each language is a short list of function words, a list of stems and a list of endings; stems with
endings make the rare words. All letters are in ISO-8859-1, so that every page can be written in
every encoding the sample web uses, and all words are lower case without digits or hyphens.
"""

from __future__ import annotations

from functools import cache

LANGUAGES = ("en", "de", "fr", "es")

# How many places the table of a language has; a power of two, so that a mask picks one.
TABLE_SIZE = 4096

_FUNCTION_WORDS = {
    "en": "the of and to in that it is was for on are with as they be at one have this from or"
    " had by not but what some we can out other were all there when up use your how said an"
    " each she",
    "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch"
    " es an werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über"
    " so zum",
    "fr": "le de la et les des en un une du que est pour qui dans par plus pas au sur ne se ce"
    " il sont avec son aux mais comme ou si leur nous cette ses elle entre été deux même"
    " aussi",
    "es": "el de la que y en a los se del las un por con no una su para es al lo como más o pero"
    " sus le ha me si sin sobre este ya entre cuando todo esta ser son dos también fue"
    " había era",
}

_STEMS = {
    "en": "harbour lantern river stone copper garden winter meadow signal engine paper mirror"
    " bridge forest candle silver cotton island market planet ribbon saddle tunnel valley"
    " window anchor basket castle desert feather glacier hammer kettle ladder marble needle"
    " orchard pebble quarry rocket shelter thunder velvet whistle barrel canyon dragon"
    " ember falcon granite hollow ivory jasmine kernel lagoon mantle nectar oyster pillar"
    " quiver raven spiral timber umbrella vessel walnut yarrow zephyr acorn blossom compass"
    " dolphin eagle fountain gallery horizon insect journal kitchen library mountain"
    " notebook ocean pasture railway sandal theatre village weather",
    "de": "hafen laterne fluss stein kupfer garten winter wiese zeichen motor papier spiegel"
    " brücke wald kerze silber wolle insel markt planet schleife sattel tunnel tal fenster"
    " anker korb burg wüste feder gletscher kessel leiter marmor nadel kiesel rakete donner"
    " pfeife fass schlucht drache funke falke granit höhle jasmin kern lagune mantel nektar"
    " auster säule köcher rabe spirale gefäß walnuss eichel blüte kompass delfin adler"
    " brunnen galerie horizont insekt tagebuch küche bücherei gebirge heft ozean weide"
    " eisenbahn theater dorf wetter straße mühle schule zimmer glocke teppich bäcker schiff"
    " vogel",
    "fr": "port lanterne fleuve pierre cuivre jardin hiver prairie signal moteur papier miroir"
    " pont forêt bougie argent coton île marché planète ruban selle tunnel vallée fenêtre"
    " ancre panier château désert plume glacier marteau échelle marbre aiguille verger"
    " caillou carrière fusée tonnerre velours sifflet tonneau canyon dragon braise faucon"
    " granit ivoire jasmin noyau lagune manteau nectar huître pilier carquois corbeau"
    " spirale vaisseau noix gland fleur boussole dauphin aigle fontaine galerie horizon"
    " insecte journal cuisine bibliothèque montagne cahier océan chemin théâtre village"
    " école chambre cloche tapis boulanger bateau oiseau",
    "es": "puerto farol río piedra cobre jardín invierno pradera señal motor papel espejo puente"
    " bosque vela plata algodón isla mercado planeta cinta silla túnel valle ventana ancla"
    " cesta castillo desierto pluma glaciar martillo escalera mármol aguja huerto guijarro"
    " cantera cohete refugio trueno terciopelo silbato barril cañón dragón brasa halcón"
    " granito marfil jazmín núcleo laguna manto néctar ostra pilar carcaj cuervo espiral"
    " madera nuez bellota flor brújula delfín águila fuente galería horizonte insecto"
    " diario cocina biblioteca montaña cuaderno océano camino teatro aldea escuela cuarto"
    " campana alfombra panadero barco pájaro",
}

_ENDINGS = {
    "en": " s less like ward craft",
    "de": " e n los haft chen weise",
    "fr": " s ment ette eur age",
    "es": " s ito dor mente ero",
}

# What authors write when they do not name the thing they point at.
VAGUE_ANCHORS = {
    "en": ("click here", "read more", "here"),
    "de": ("hier klicken", "mehr lesen", "hier"),
    "fr": ("cliquez ici", "lire la suite", "ici"),
    "es": ("haga clic", "leer más", "aquí"),
}

HOME_ANCHORS = {"en": "home", "de": "startseite", "fr": "accueil", "es": "inicio"}

# Directories; the robots.txt files of the sample web speak about the one called private.
SECTIONS = ("private", "news", "wiki", "shop", "blog", "docs", "team", "archive")
SUBSECTIONS = ("north", "south", "east", "west")

# For host names and the readable part of a path: ASCII only.
SLUGS = tuple(word for word in _STEMS["en"].split() if word.isascii())


@cache
def table(language: str) -> tuple[str, ...]:
    """The language's words, each as often as it is to be drawn, rank by rank."""
    words = _words(language)
    # The share of rank r is about 1 / (r + 8): Zipf's law with a head that is not too heavy.
    share = 600
    counts = [max(1, share // (rank + 8)) for rank in range(len(words))]
    while sum(counts) < TABLE_SIZE:
        share += 1
        counts = [max(1, share // (rank + 8)) for rank in range(len(words))]
    places = [word for word, count in zip(words, counts, strict=True) for _ in range(count)]
    return tuple(places[:TABLE_SIZE])


@cache
def title_words(language: str) -> tuple[str, ...]:
    """The words that titles are made of."""
    return tuple(_STEMS[language].split())


def _words(language: str) -> list[str]:
    stems = _STEMS[language].split()
    endings = _ENDINGS[language].split(" ")
    rare = [stem + ending for ending in endings for stem in stems]
    return list(dict.fromkeys(_FUNCTION_WORDS[language].split() + rare))
