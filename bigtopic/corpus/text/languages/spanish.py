"""Spanish."""

__all__ = ["WORDS"]

WORDS = """
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
"""
