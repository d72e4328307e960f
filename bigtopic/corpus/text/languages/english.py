"""English; the last group are the pieces that a pattern of word characters leaves of contractions."""

__all__ = ["WORDS"]

WORDS = """
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
"""
