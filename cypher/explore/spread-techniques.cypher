// Techniques located in several files. An ablation cannot switch these techniques off in a single place.
//
// Group: repositories
// Parameters:
//   files: integer = 2 -- minimum number of files
//   paper: paper = "" -- only this paper, by id; empty: all papers
// Example: xkg cypher spread-techniques --param files=3

MATCH (t:Technique)-[:LOCATED_AT]->(s:Symbol)<-[:DEFINES]-(r:Repository)
WITH t, r.id AS repository_id, count(DISTINCT s.path) AS files, count(DISTINCT s.id) AS places
WHERE files >= $files
WITH t, repository_id, files, places, split(t.id, '#')[0] AS paper_id
WHERE $paper = '' OR paper_id = $paper
MATCH (p:Paper {id: paper_id})
RETURN t.name AS technique, t.id AS technique_id, p.title AS paper, repository_id, files, places
ORDER BY files DESC, places DESC, technique_id, repository_id
