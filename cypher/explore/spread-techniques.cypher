// Techniques that are located in several files: what an ablation cannot switch off in one place.
//
// Group: repositories
// Parameters:
//   files: integer = 2 -- in at least so many files
//   paper: string = "" -- only of this paper, by id; empty takes all
// Example: xkg cypher spread-techniques --param files=3

MATCH (p:Paper)-[:PROPOSES|HAS_COMPONENT*1..20]->(t:Technique)-[:LOCATED_AT]->(s:Symbol)<-[:DEFINES]-(r:Repository)
WHERE $paper = '' OR p.id = $paper
WITH DISTINCT p, t, r, s
WITH p.title AS paper, t.name AS technique, t.id AS technique_id, r.id AS repository_id, count(DISTINCT s.path) AS files,
  count(s) AS places
WHERE files >= $files
RETURN technique, technique_id, paper, repository_id, files, places
ORDER BY files DESC, places DESC, technique_id, repository_id
