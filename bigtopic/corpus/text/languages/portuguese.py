"""Portuguese."""

__all__ = ["WORDS"]

WORDS = """
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
"""
