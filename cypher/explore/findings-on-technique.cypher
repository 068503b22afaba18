// Findings that mention a technique by the given name, or by another name of a technique with the given name. Names of
// one or two letters are ignored, unless the given name is that short.
//
// Group: findings
// Parameters:
//   technique: string -- name or alias of a technique (case-insensitive)
// Example: xkg cypher findings-on-technique --param technique=SVGD

WITH toLower($technique) AS wanted
OPTIONAL MATCH (t:Technique)
WHERE toLower(t.name) = wanted OR any(alias IN t.aliases WHERE toLower(alias) = wanted)
UNWIND coalesce(t.aliases, [wanted]) + [coalesce(t.name, wanted), wanted] AS called
WITH DISTINCT wanted, toLower(called) AS name
WHERE name = wanted OR size(name) > 2
MATCH (p:Paper)-[:REPORTS]->(f:Finding)
WHERE toLower(f.name) CONTAINS name OR toLower(coalesce(f.description, '')) CONTAINS name
RETURN DISTINCT f.name AS finding, f.description AS description, f.id AS finding_id, p.title AS paper
ORDER BY finding_id
