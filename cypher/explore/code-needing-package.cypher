// Code that depends on a package. Use it to see what may break when the package changes, or to find usage examples.
//
// Group: code
// Parameters:
//   package: string -- name of the package as listed by code, such as numpy
//   levels: strings = ["parsed", "imported", "executed", "tested", "faithful", "none"] -- only code at these levels
// Example: xkg cypher code-needing-package --param package=numpy --param levels=tested,faithful

WITH toLower($package) AS wanted
MATCH (t:Technique)-[:IMPLEMENTED_BY]->(c:Code)
WHERE any(package IN c.packages WHERE toLower(package) = wanted) AND c.level IN $levels
WITH t, c, split(t.id, '#')[0] AS paper_id
MATCH (p:Paper {id: paper_id})
RETURN t.name AS technique, c.id AS code_id, c.level AS level, p.title AS paper, c.packages AS packages
ORDER BY code_id
