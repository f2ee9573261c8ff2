"""The lab: a page where one types a query and events and sees answers, machines, steps and reasons.

`answers` is what runs behind the page, in this process (`serve`) or in the browser by Pyodide
(`build`, a folder of static files that needs no server).
"""
