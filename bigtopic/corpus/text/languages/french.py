"""French; the last group are the pieces that a pattern of word characters leaves of elisions."""

__all__ = ["WORDS"]

WORDS = """
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
"""
