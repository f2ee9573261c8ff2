// Sphinx' own scores, and more for each typed word in the title of the page that was found:
// section titles count as much as page titles otherwise, and ties are in the order of the alphabet.
// Pages that list everything have any words, so they come after pages about these.
const LISTS = ["reference/changelog", "reference/errors", "reference/ledger", "reference/proofs"];
const TYPED = (new URLSearchParams(window.location.search).get("q") ?? "").toLowerCase().match(/\w+/g) ?? [];

var Scorer = {
  score: ([page, title, , , score]) => {
    const words = new Set(title.toLowerCase().match(/\w+/g));
    return score - (LISTS.includes(page) ? 10 : 0) + 4 * TYPED.filter((word) => words.has(word)).length;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
