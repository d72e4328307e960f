"""German."""

__all__ = ["WORDS"]

WORDS = """
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
"""
