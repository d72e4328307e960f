"""Dutch."""

__all__ = ["WORDS"]

WORDS = """
de het een der des den dit dat deze die zulke zulk elk elke ieder iedere alle alles al beide enkele enige sommige
ander andere anderen geen veel vele velen meer meest weinig minder zelfde

ik mij me mijn jij je jou jouw hij hem zijn zij ze haar hen hun wij we ons onze jullie u uw zich zichzelf elkaar
men iemand niemand iets niets wie wat welk welke wiens

ben bent is was waren geweest wordt word worden werd werden geworden heb hebt heeft hebben had hadden gehad
kan kunt kunnen kon konden zal zult zullen zou zouden moet moeten moest moesten mag mogen mocht mochten wil wilt
willen wilde wilden laat laten

aan achter behalve beneden bij binnen boven buiten door gedurende in langs met na naar naast om onder op over per
rond sinds te tegen ten ter tijdens tot tussen uit van vanaf vanuit via volgens voor voorbij wegens zonder

en of maar want dus doch noch als dan indien omdat doordat zodat terwijl toen wanneer hoewel ofschoon tenzij totdat
voordat nadat sinds alsof zoals

niet ook nog wel al er hier daar waar nu dan toen hoe waarom waardoor waarin waarmee waarop waarvan daarom daardoor
daarin daarmee daarna daarop daarvan ervan erop erin ermee echter toch steeds altijd nooit ooit vaak soms reeds zeer
heel erg te weer even eens maar slechts bijna misschien zelfs juist verder ja nee zo
"""
