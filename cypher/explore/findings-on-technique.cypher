// Findings whose text mentions a technique, by the name that is given or any other name of techniques that are called
// so.
//
// Group: findings
// Parameters:
//   technique: string -- name or alias of a technique, in any case
// Example: xkg cypher findings-on-technique --param technique=SVGD

WITH toLower($technique) AS wanted
MATCH (p:Paper)-[:REPORTS]->(f:Finding)
WITH wanted, p, f, toLower(f.name + ' ' + coalesce(f.description, '')) AS text
WHERE text CONTAINS wanted
  OR EXISTS {MATCH (t:Technique)
    WHERE (toLower(t.name) = wanted OR any(alias IN t.aliases WHERE toLower(alias) = wanted))
      AND (text CONTAINS toLower(t.name) OR any(alias IN t.aliases WHERE text CONTAINS toLower(alias)))}
RETURN f.name AS finding, f.description AS description, f.id AS finding_id, p.title AS paper
ORDER BY finding_id
