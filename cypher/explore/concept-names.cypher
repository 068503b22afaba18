// All names and aliases for a concept: those of techniques with the given name, and those of techniques from other papers
// that are the same concept.
//
// Group: concepts
// Parameters:
//   name: string -- name or alias of a technique (case-insensitive)
// Example: xkg cypher concept-names --param name=adam

WITH toLower($name) AS wanted
MATCH (t:Technique)
WHERE toLower(t.name) = wanted OR any(alias IN t.aliases WHERE toLower(alias) = wanted)
OPTIONAL MATCH (t)-[:SAME_CONCEPT]-(near:Technique)
UNWIND [t.id, coalesce(near.id, t.id)] AS member
WITH DISTINCT member
MATCH (u:Technique {id: member})
WITH u, split(u.id, '#')[0] AS paper_id
MATCH (p:Paper {id: paper_id})
UNWIND u.aliases + [u.name] AS called
RETURN DISTINCT called, CASE WHEN called = u.name THEN 'name' ELSE 'alias' END AS used_as, u.id AS technique_id,
  p.title AS paper
ORDER BY called, technique_id, used_as
