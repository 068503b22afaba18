// Monthly cost of builds, in dollars. A paper counts towards the month of its last build.
//
// Group: papers
// Parameters: none
// Example: xkg cypher costs-by-month

MATCH (p:Paper) WHERE p.built_at IS NOT NULL
RETURN left(p.built_at, 7) AS month, count(p) AS papers, round(sum(p.cost_usd), 4) AS cost_usd,
  round(max(p.cost_usd), 4) AS dearest_usd
ORDER BY month
