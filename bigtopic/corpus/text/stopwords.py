"""Stop words: the function words of a language, by class, or the user's own list."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from bigtopic.errors import SettingError, argument, did_you_mean, either

__all__ = [
    "ENGLISH",
    "is_list_of_language",
    "language_of",
    "languages",
    "list_name",
    "resolve_stop_words",
    "spellings",
    "stop_words",
    "words_of",
]

_LIMIT = 1 << 24  # bytes of a file
_LOOKED_AT = 1 << 16  # characters that tell a language
_LEAST = 0.1  # share of function words in text of a language: a half in prose, a fifth in titles
_TOKEN = re.compile(r"\w\w+")
_NONE = "or 'none'"  # of --stop-words


def languages() -> list[str]:
    """The languages with a list of stop words."""
    return list(_LISTS)


def stop_words(language: str) -> list[str]:
    """The stop words of a language, sorted: to be extended, or for `Corpus.filter_vocabulary(drop=...)`.

    Raises
    ------
    SettingError
        When there is no list for it.

    Examples
    --------
    >>> stop_words("english")[-3:]
    ['yours', 'yourself', 'yourselves']
    """
    return sorted(words_of(language))


@cache
def words_of(language: str) -> frozenset[str]:
    """The stop words of a language.

    Raises
    ------
    SettingError
        When there is no list for it.
    """
    if language not in _LISTS:
        hint = did_you_mean(language, _LISTS)
        raise SettingError(
            f"there is no list of stop words {language!r}; there are: {', '.join(_LISTS)}{hint}"
        )
    return frozenset(_LISTS[language].split())


def language_of(texts: Iterable[str]) -> str | None:
    """The language whose stop words are most frequent at the beginning of these texts.

    None if they are less than a tenth of the tokens, or of the ten most frequent words less than four: the texts are in
    another language, or not prose. A related language has the same share, from few words.
    """
    counts = Counter(_beginning(texts))
    shares = {name: sum(counts[word] for word in words_of(name)) for name in languages()}
    best = max(shares, key=lambda name: shares[name])
    frequent = [word for word, _ in counts.most_common(10) if word in words_of(best)]
    return best if shares[best] >= _LEAST * counts.total() and len(frequent) >= 4 else None


def _beginning(texts: Iterable[str]) -> Iterator[str]:
    left = _LOOKED_AT
    for text in texts:
        yield from _TOKEN.findall(text[:left].lower())
        left -= len(text)
        if left <= 0:
            break


def list_name(stop_words: Any) -> str:
    """How a list is shown: the name of its language, or its length."""
    if isinstance(stop_words, str):
        return stop_words
    words = frozenset(stop_words)
    return next((name for name in languages() if words_of(name) == words), f"{len(words):,}")


def is_list_of_language(stop_words: Any) -> bool:
    """Whether these are the words of a language, which are compared without case; words that were listed are not."""
    return bool(stop_words) and list_name(stop_words) in languages()


def spellings(stop_words: Any) -> frozenset[str]:
    """The words of a setting as they may be written: a language's words in lower case, capitals, or with a capital."""
    words = words_of(stop_words) if isinstance(stop_words, str) else frozenset(stop_words or ())
    if not is_list_of_language(stop_words):
        return words
    return words.union(*([word.capitalize(), word.upper()] for word in words))


def resolve_stop_words(stop_words: str | Iterable[str] | None) -> tuple[str, ...] | str | None:
    """The setting in the form that is stored: None, "english", or the sorted words themselves.

    Parameters
    ----------
    stop_words : None, a language, a path of a text file (a word per line; `#` begins a comment), or words

    Raises
    ------
    SettingError
        When a string is neither a language nor the path of a file.
    """
    if stop_words is None or stop_words == "english":
        return stop_words
    if isinstance(stop_words, str) and stop_words in languages():
        return tuple(sorted(words_of(stop_words)))
    if isinstance(stop_words, (str, Path)):
        stop_words = _read(Path(stop_words))
    words = tuple(sorted(set(stop_words)))
    if not all(isinstance(word, str) for word in words):
        raise SettingError(
            f"{argument('stop_words')} must be strings; allowed are None, {_named()}, a file, or a list of words"
        )
    return words


def _named() -> str:
    return ", ".join(map(repr, languages()))


def _read(path: Path) -> list[str]:
    try:
        if not path.is_file():
            raise FileNotFoundError
        if path.stat().st_size > _LIMIT:
            raise SettingError(
                f"{argument('stop_words')} file {path} is longer than {_LIMIT >> 20} MiB; give a word per line"
            )
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise SettingError(
            f"{argument('stop_words', str(path))} is neither a language nor a file; give 'auto', {_named()}, a file "
            f"with one word per line, {either('a list of words, or None', _NONE)}"
        ) from None
    except UnicodeDecodeError as error:
        raise SettingError(f"{argument('stop_words')} file {path} is not UTF-8 text: {error}") from None
    except OSError as error:
        raise SettingError(
            f"{argument('stop_words')} file {path} cannot be read: {error.strerror}; check its permissions"
        ) from error
    return [word for line in lines if (word := line.split("#")[0].strip())]


# To add a language, add its list.
_LISTS = {
    "dutch": """
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
""",
    # the last group holds the pieces that a pattern of word characters leaves of contractions
    "english": """
a an the this that these those such same other others another each every either neither both all any some
none no not nor only own few fewer many more most much less least several enough

i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her
hers herself it its itself they them their theirs themselves one ones oneself
who whom whose which what whoever whatever whichever
anyone anybody anything someone somebody something everyone everybody everything nobody nothing nowhere
anywhere somewhere everywhere

am is are was were be been being do does did doing done have has had having
can cannot could may might must shall should will would ought

about above across after against along alongside amid among amongst around as at before behind below beneath
beside besides between beyond but by concerning despite down during except for from in inside into like near
of off on onto out outside over past per since than through throughout till to toward towards under until up
upon via with within without

and or if unless because although though while whereas whether so yet then else hence thus therefore
thereby therein however moreover furthermore nevertheless nonetheless otherwise

again already almost also alone always anyhow anyway away back elsewhere ever even further here how indeed
just maybe meanwhile mostly never now often once perhaps quite rather really seldom soon sometimes still
there too twice usually very well when whenever where wherever why

ain aren couldn didn doesn don hadn hasn haven isn ll mightn mustn needn re shan shouldn ve wasn weren won
wouldn
""",
    # the last group holds the pieces that a pattern of word characters leaves of elisions
    "french": """
le la les un une des du de au aux ce cet cette ces tout toute tous toutes aucun aucune chaque plusieurs quelque
quelques certain certaine certains certaines autre autres même mêmes tel telle tels telles quel quelle quels quelles
plus moins peu beaucoup trop assez tant autant

je me moi tu te toi il elle on nous vous ils elles se soi lui leur leurs eux en
mon ma mes ton ta tes son sa ses notre nos votre vos mien mienne tien tienne sien sienne
celui celle ceux celles ceci cela ça rien personne quelqu
qui que quoi dont où lequel laquelle lesquels lesquelles auquel auxquels auxquelles duquel desquels desquelles

suis es est sommes êtes sont étais était étions étiez étaient été étant serai seras sera serons serez seront
serait seraient serais soit soient fut furent fût être
ai as avons avez ont avais avait avions aviez avaient eu ayant aurai aura auront aurait auraient ait aient eut
eurent avoir
fait faire font peut peuvent pouvait pouvaient pourrait pourraient pu pouvoir doit doivent devait devaient devrait
devraient dû devoir veut veulent va vont faut

avec après avant chez contre dans depuis derrière dès devant durant entre envers hors jusque jusqu malgré
outre par parmi pendant pour près sans sauf selon sous suivant sur vers via voici voilà

et ou mais donc or ni car si comme lorsque lorsqu puisque puisqu quand quoique parce afin tandis pourtant cependant
toutefois néanmoins ainsi alors aussi puis ensuite enfin

ne pas point jamais non oui très bien encore déjà toujours souvent parfois ici là ailleurs maintenant aujourd hui hier
demain surtout notamment seulement presque plutôt tout combien comment pourquoi davantage environ

qu c d j l m n s t y à
""",
    "german": """
der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner keines
dieser diese dieses diesen diesem jener jene jenes jenen jenem jeder jede jedes jeden jedem
mancher manche manches manchen manchem solcher solche solches solchen solchem welcher welche welches welchen welchem
alle allem allen aller alles beide beiden einige einigen einiger etwas jemand jemanden niemand nichts viel viele
vielen vieler mehr mehrere mehreren weniger wenige wenigen

ich mich mir mein meine meinen meinem meiner meines du dich dir dein deine deinen deinem deiner deines
er ihn ihm sein seine seinen seinem seiner seines sie ihr ihre ihren ihrem ihrer ihres es wir uns unser unsere
unseren unserem unserer unseres euch euer eure euren eurem eurer man sich selbst selber einander
wer wen wem wessen was

bin bist ist sind seid war warst waren wart gewesen sei seien wäre wären
habe hast hat haben habt hatte hattest hatten hattet gehabt hätte hätten
werde wirst wird werden werdet wurde wurdest wurden geworden worden würde würden
kann kannst können könnt konnte konnten könnte könnten muss musst müssen müsst musste mussten müsste müssten
soll sollst sollen sollt sollte sollten will willst wollen wollt wollte wollten darf dürfen durfte durften dürfte
dürften mag mögen möchte möchten lassen lässt ließ

ab an am ans auf aufs aus außer bei beim bis bis durch entlang für fürs gegen gegenüber hinter im in ins mit nach
neben ohne pro seit statt trotz über überm um unter von vom vor wegen während wider zu zum zur zwischen

und oder aber denn sondern doch jedoch dass daß ob weil wenn als wie falls obwohl damit sodass indem nachdem bevor
ehe sobald solange sowie sowohl weder noch entweder

auch nicht nur schon noch immer wieder hier dort da dann nun jetzt sehr so zwar dabei dadurch dafür dagegen daher
dahin danach daneben daran darauf daraus darin darüber darum darunter davon davor dazu deshalb deswegen eben etwa
gar ganz genau heute hin her ja nein kaum mal meist nie niemals oft sogar sonst trotzdem überhaupt vielleicht wann
warum weshalb wieso wo wobei wodurch wofür woher wohin womit worauf worin ziemlich zudem zuerst zuvor also allerdings
außerdem bereits bisher dennoch ebenso einmal fast jeweils stets weiter weiterhin wohl
""",
    # the last group holds the pieces that a pattern of word characters leaves of elisions
    "italian": """
il lo la gli le un uno una del dello della dei degli delle al allo alla ai agli alle dal dallo dalla dai dagli dalle
nel nello nella nei negli nelle sul sullo sulla sui sugli sulle col coi
questo questa questi queste quello quella quelli quelle quei quegli quel tutto tutta tutti tutte ogni ognuno alcuno
alcuna alcuni alcune nessun nessuno nessuna altro altra altri altre stesso stessa stessi stesse tale tali tanto tanta
tanti tante molto molta molti molte poco poca pochi poche qualche ciascun ciascuno ciascuna qualsiasi più meno

io me mi tu te ti egli ella esso essa essi esse lui lei noi ci voi vi loro si sé li ne
mio mia miei mie tuo tua tuoi tue suo sua suoi sue nostro nostra nostri nostre vostro vostra vostri vostre
che chi cui quale quali ciò niente nulla qualcosa qualcuno

sono sei siamo siete era ero eri eravamo erano fu fui furono stato stata stati state essendo sarà saranno sarebbe
sarebbero sia siano fosse fossero essere
ho hai ha abbiamo avete hanno avevo aveva avevano ebbe ebbero avuto avendo avrà avranno avrebbe avrebbero abbia
abbiano avesse avessero avere
può possono poteva potevano potrebbe potrebbero potuto potere deve devono doveva dovevano dovrebbe dovuto dovere
fa fanno fatto fare vuole viene vengono veniva

di da in con su per tra fra contro dentro dietro dopo durante entro fino fuori lungo mediante nonostante oltre presso
prima secondo senza sopra sotto verso

ed od ma però anzi dunque quindi perché poiché affinché mentre quando quanto come dove se anche neanche nemmeno né
oppure ovvero cioè infatti inoltre tuttavia invece così allora poi

non già ancora sempre mai qui qua lì là ora adesso oggi ieri domani solo soltanto bene quasi forse appena ben molto
assai abbastanza troppo spesso

dell dall nell sull all un quest quell anch
""",
    "portuguese": """
os as um uma uns umas do da dos das no na nos nas ao aos à às pelo pela pelos pelas num numa dum duma
este esta isto estes estas esse essa isso esses essas aquele aquela aquilo aqueles aquelas neste nesta nestes nestas
nesse nessa nisso deste desta destes destas desse dessa disso daquele daquela àquele àquela
todo toda todos todas tudo nenhum nenhuma nenhuns algum alguma alguns algumas cada qualquer quaisquer outro outra
outros outras mesmo mesma mesmos mesmas tal tais tanto tanta tantos tantas muito muita muitos muitas pouco pouca
poucos poucas vários várias ambos ambas mais menos

eu me mim tu te ti ele ela você vocês nós vós eles elas se si lhe lhes lo la los las
meu minha meus minhas teu tua teus tuas seu sua seus suas nosso nossa nossos nossas dele dela deles delas comigo
contigo consigo conosco
que quê quem qual quais cujo cuja cujos cujas alguém ninguém algo nada

sou és é somos são era eras éramos eram fui foi fomos foram sido sendo será serão seria seriam seja sejam fosse
fossem for forem ser estou está estamos estão estava estavam esteve estiveram estado estando esteja estejam estar
tenho tem temos têm tinha tinham teve tiveram tido tendo terá terão teria teriam tenha tenham tivesse ter
hei há havia haviam houve havido haver pode podem podia podiam poderia poderiam pôde poder deve devem devia deveria
faz fazem fazer fez vai vão

ante após até com contra de desde durante em entre para perante por sem sob sobre trás segundo conforme

mas porém contudo todavia porque pois embora como quando enquanto onde quanto caso então assim logo portanto além
também nem ou se

não já ainda sempre nunca jamais aqui ali lá aí agora antes depois hoje ontem amanhã só somente apenas bem quase
talvez tão inclusive
""",
    "spanish": """
el la lo los las un una unos unas al del este esta esto estos estas ese esa eso esos esas aquel aquella aquello
aquellos aquellas todo toda todos todas ningún ninguna ninguno ningunos algún alguna alguno algunos algunas cada
cualquier cualquiera otro otra otros otras mismo misma mismos mismas tal tales tanto tanta tantos tantas mucho mucha
muchos muchas poco poca pocos pocas varios varias demás ambos ambas más menos muy

yo me mí tú te ti él ella ello usted ustedes nosotros nosotras nos vosotros vosotras os ellos ellas se sí le les
mi mis tu tus su sus mío mía míos mías tuyo tuya suyo suya suyos suyas nuestro nuestra nuestros nuestras vuestro
vuestra vuestros vuestras conmigo contigo consigo
que qué quien quién quienes quiénes cual cuál cuales cuáles cuyo cuya cuyos cuyas alguien nadie algo nada

soy eres es somos sois son era eras éramos eran fui fue fuimos fueron sido siendo será serán sería serían sea sean
fuera fueran ser estoy está estás estamos están estaba estaban estuvo estuvieron estado estando esté estén estar
he has ha hemos habéis han había habían hubo habido habiendo habrá habrán habría habrían haya hayan hubiera hubieran
haber hay tengo tiene tienen tenía tenían tuvo tener puede pueden podía podían podría podrían pudo poder debe deben
debía deber hace hacen hacer hizo

ante bajo cabe con contra de desde durante en entre hacia hasta mediante para por según sin sobre tras

pero sino ni si porque pues aunque como cuando mientras donde dónde cómo cuándo cuanto cuánto así entonces luego
además también tampoco sin embargo

no ya aún todavía siempre nunca jamás aquí allí allá ahí ahora antes después hoy ayer mañana solo sólo bien casi
quizá quizás tan apenas incluso
""",
}

ENGLISH = words_of("english")
