"""Italian; the last group are the pieces that a pattern of word characters leaves of elisions."""

__all__ = ["WORDS"]

WORDS = """
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
"""
