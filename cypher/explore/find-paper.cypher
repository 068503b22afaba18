// Papers whose title or authors hold a text, with their ids; a stub is cited but was not built.
//
// Group: papers
// Parameters:
//   text: string -- part of the title or of an author's name, in any case
// Example: xkg cypher find-paper --param text=stein

WITH toLower($text) AS wanted
MATCH (p:Paper)
WHERE toLower(p.title) CONTAINS wanted OR any(author IN p.authors WHERE toLower(author) CONTAINS wanted)
RETURN p.id AS paper_id, p.title AS paper, p.year AS year, p.state AS state
ORDER BY paper_id
