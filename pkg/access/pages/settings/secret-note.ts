import { html, type Html } from '../html.ts';

/** Shows secrets, by label, in this answer only; the script adds buttons to copy them. */
export function secretNote({ title, secrets }: { title: string; secrets: Readonly<Record<string, string>> }): Html {
  return html`<section class="note good" aria-labelledby="created" role="status"><h2 id="created">${title}</h2>
<p>Copy it now: it is shown this once, and cannot be read again.</p>
${Object.entries(secrets).map(([name, secret]) => html`<h3>${name[0]!.toUpperCase() + name.slice(1)}</h3><p><code class="secret" data-copy="${name}">${secret}</code></p>`)}
</section>`;
}
