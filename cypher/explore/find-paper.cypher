// Papers whose title or authors contain the given text, with their ids. Cited works that have not been built have the
// state `cited`.
//
// Group: papers
// Parameters:
//   text: string -- part of the title or of an author's name (case-insensitive)
// Example: xkg cypher find-paper --param text=stein

WITH toLower($text) AS wanted
MATCH (p:Paper|CitedWork)
WHERE toLower(p.title) CONTAINS wanted OR any(author IN p.authors WHERE toLower(author) CONTAINS wanted)
RETURN p.id AS paper_id, p.title AS paper, p.year AS year, coalesce(p.state, 'cited') AS state
ORDER BY paper_id
