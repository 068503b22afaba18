// The number of code nodes at each level, per language, highest level first.
//
// Group: code
// Parameters: none
// Example: xkg cypher code-by-level

MATCH (c:Code)
RETURN c.level AS level, c.language AS language, count(c) AS code_nodes,
  sum(CASE WHEN c.test <> '' THEN 1 ELSE 0 END) AS with_test
ORDER BY CASE level WHEN 'faithful' THEN 0 WHEN 'tested' THEN 1 WHEN 'executed' THEN 2 WHEN 'imported' THEN 3
    WHEN 'parsed' THEN 4 ELSE 5 END, language
