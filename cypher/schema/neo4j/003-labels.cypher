// For graphs of schema 2: cited works are no papers, bookkeeping has labels of its own, and code has a name. The record
// of the schema is set here too, so that all of it holds or nothing.

MATCH (p:Paper) WHERE p.state = 'stub' AND NOT EXISTS { MATCH (b:Bundle {id: p.id}) WHERE NOT b.removed }
SET p = {id: p.id, title: p.title, year: p.year, arxiv_id: p.arxiv_id}, p:CitedWork REMOVE p:Paper;
MATCH (t:Technique)-[:IMPLEMENTED_BY]->(c:Code) SET c.name = t.name;
MATCH (b:Bundle) SET b:XkgBundle REMOVE b:Bundle;
MATCH (d:Decision) SET d:XkgDecision REMOVE d:Decision;
MATCH (n:Name) SET n:XkgName REMOVE n:Name;
MATCH (m:Meta {id: 'graph'}) SET m:XkgMeta, m.schema = 3 REMOVE m:Meta;
