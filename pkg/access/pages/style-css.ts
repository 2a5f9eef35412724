export const accessStyleCss = `:root {
  color-scheme: light dark;
  --back: #f4f5f7; --card: #fff; --text: #1c2128; --soft: #57606a; --line: #c4cad1; --field: #868e96;
  --strong: #0b5cad; --strong-text: #fff; --bad: #b3261e; --bad-back: #fdecea; --good: #14643a; --good-back: #e6f4ec;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #14171b; --card: #1e2329; --text: #e8eaed; --soft: #a9b2bd; --line: #3a424c; --field: #7d8894;
    --strong: #8ab8f2; --strong-text: #0b1a2b; --bad: #ffb4ab; --bad-back: #3b1a17; --good: #8fdcae; --good-back: #14301f;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
a { color: var(--strong); }
:focus-visible { outline: 3px solid var(--strong); outline-offset: 2px; }
[tabindex='-1']:focus { outline: none; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 1rem; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 0 0 0.75rem; }
h3 { font-size: 1rem; margin: 0 0 0.5rem; }
p { margin: 0 0 0.75rem; }
.skip { position: absolute; left: -100vw; padding: 0.75rem; background: var(--card); }
.skip:focus { left: 0; z-index: 1; }
.top { background: var(--card); border-bottom: 1px solid var(--line); }
.top > div, main, .foot { max-width: 60rem; margin: 0 auto; padding: 0.75rem 1rem; }
.top > div { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; align-items: center; justify-content: space-between; }
.top p, .top form { margin: 0; }
.brand { font-weight: 600; }
.who { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; align-items: center; }
main { padding-top: 1.5rem; }
main.narrow { max-width: 28rem; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem; list-style: none; margin: 0 0 1.5rem; padding: 0; }
nav a { display: block; padding: 0.6rem 0.9rem; border-radius: 0.5rem; }
nav a[aria-current] { background: var(--strong); color: var(--strong-text); text-decoration: none; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 0.75rem; padding: 1rem 1.25rem; margin: 0 0 1rem; }
.list { list-style: none; margin: 0; padding: 0; }
.field { margin: 0 0 1rem; }
.field label, legend { display: block; font-weight: 600; padding: 0; }
.choice { display: flex; gap: 0.6rem; align-items: center; min-height: 2.75rem; }
.choice label { font-weight: 400; }
.choice input { width: 1.25rem; height: 1.25rem; flex: none; margin: 0; }
.choices { display: grid; grid-template-columns: repeat(auto-fill, minmax(14rem, 1fr)); gap: 0 1rem; max-height: 22rem; overflow: auto; margin: 0 0 0 1.85rem; }
fieldset { border: 0; margin: 0 0 1rem; padding: 0; min-width: 0; }
.hint { color: var(--soft); font-size: 0.9rem; margin: 0.15rem 0 0.35rem; }
.wrong { color: var(--bad); font-weight: 600; margin: 0.15rem 0 0.35rem; }
input:not([type='checkbox'], [type='radio']), textarea, select { width: 100%; max-width: 34rem; min-height: 2.75rem; padding: 0.5rem 0.75rem; font: inherit; color: inherit; background: var(--card); border: 1px solid var(--field); border-radius: 0.5rem; }
[aria-invalid='true'] { border-color: var(--bad) !important; border-width: 2px !important; }
button, summary { font: inherit; min-height: 2.75rem; padding: 0.5rem 1rem; border-radius: 0.5rem; border: 1px solid var(--field); background: transparent; color: var(--text); cursor: pointer; }
button.main { background: var(--strong); border-color: var(--strong); color: var(--strong-text); font-weight: 600; }
button.bad, .bad > summary { color: var(--bad); border-color: var(--bad); }
summary { display: inline-flex; align-items: center; list-style: none; }
summary::-webkit-details-marker { display: none; }
details[open] > summary { margin-bottom: 0.75rem; }
.actions details[open] { flex-basis: 100%; }
.actions { display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: flex-start; }
.actions form { margin: 0; }
.card > :last-child { margin-bottom: 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.15rem 1rem; margin: 0 0 0.75rem; }
dt { color: var(--soft); }
dd { margin: 0; min-width: 0; }
code, .secret { font-family: ui-monospace, monospace; font-size: 0.95em; }
.secret { display: block; padding: 0.75rem; margin: 0 0 0.75rem; border: 1px dashed var(--field); border-radius: 0.5rem; user-select: all; }
.note { border-radius: 0.75rem; border: 1px solid; padding: 0.75rem 1.25rem; margin: 0 0 1rem; }
.note p:last-child { margin: 0; }
.note.bad { background: var(--bad-back); color: var(--bad); }
.note.good { background: var(--good-back); color: var(--good); }
.mark { display: inline-block; padding: 0 0.5rem; border: 1px solid; border-radius: 1rem; font-size: 0.85rem; font-weight: 600; }
.mark.good { color: var(--good); }
.mark.bad { color: var(--bad); }
.foot { color: var(--soft); font-size: 0.9rem; }
.visually-hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (max-width: 30rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: 0.4rem; } button, summary { flex: 1 1 auto; } }
`;
