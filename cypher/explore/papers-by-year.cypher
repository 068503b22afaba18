// The number of papers by year and arXiv domain (such as cs), the number of their techniques, and how many techniques
// have code. Papers without a year or domain come last.
//
// Group: papers
// Parameters: none
// Example: xkg cypher papers-by-year

MATCH (p:Paper)
OPTIONAL MATCH (p)-[:PROPOSES|HAS_COMPONENT*1..20]->(t:Technique)
OPTIONAL MATCH (t)-[:IMPLEMENTED_BY]->(c:Code)
RETURN p.year AS year, p.domain AS domain, count(DISTINCT p.id) AS papers, count(t) AS techniques, count(c) AS coded
ORDER BY year, domain
