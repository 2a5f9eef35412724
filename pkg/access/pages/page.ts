import type { AnswerHeaders } from '#pkg/http/index';
import type { AccessResponse } from '../operations/operation.ts';
import { html, type Html } from './html.ts';

/** Only files of this origin; no inline code, no fetch, no framing. A form may redirect to `formTargets`, too. */
function contentSecurityPolicy(formTargets: readonly string[]): string {
  const formAction = ["'self'", ...formTargets].join(' ');
  return `default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; form-action ${formAction}; frame-ancestors 'none'; base-uri 'none'`;
}

/** The logged-in user, and the CSRF token of their forms. */
export interface PageUser {
  readonly username: string;
  readonly csrfToken: string;
}

export interface PageOptions {
  /** Default 200. */
  status?: number;
  /** The page's name: its heading, and first in its title. */
  title: string;
  /** Shown before the heading in `main`, for example the location. */
  navigation?: Html | undefined;
  body: Html;
  user?: PageUser | undefined;
  /** For a page with one short form. */
  isNarrow?: boolean;
  /** The page reports an error: the title begins with it, as screen readers read the title first. */
  isProblem?: boolean;
  /** Other origins that the answer to a form may redirect to. Default: none. */
  formTargets?: readonly string[];
  headers?: AnswerHeaders;
}

/** A complete page, never cached. */
export function pageAnswer({
  status = 200,
  title,
  navigation,
  body,
  user,
  isNarrow = false,
  isProblem = false,
  formTargets = [],
  headers = {},
}: PageOptions): AccessResponse {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${isProblem ? 'Problem: ' : ''}${title} - Access management</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/assets/style.css">
<script src="/assets/pages.js" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top"><div>
<p class="brand">Access management</p>
${user && userBar(user)}
</div></header>
<main id="content" tabindex="-1" ${isNarrow && html`class="narrow"`}>
${navigation}
<h1>${title}</h1>
${body}
</main>
<footer class="foot"><a href="/api/docs/">API reference</a></footer>
</body>
</html>
`;
  // With `no-referrer` a form's Origin header would be `null`.
  return {
    status,
    contentType: 'text/html; charset=utf-8',
    body: page.text,
    headers: {
      'Content-Security-Policy': contentSecurityPolicy(formTargets),
      'Referrer-Policy': 'same-origin',
      ...headers,
    },
  };
}

/** Redirects to another page, of this service or of an allowed origin, with GET. */
export function seeOther(path: string, headers: AnswerHeaders = {}): AccessResponse {
  return { status: 303, contentType: 'text/plain; charset=utf-8', headers: { Location: path, ...headers } };
}

function userBar({ username, csrfToken }: PageUser): Html {
  return html`<div class="who">
<p>Logged in as <strong>${username}</strong></p>
<form method="post" action="/logout/">${csrfField(csrfToken)}<button type="submit">Log out</button></form>
</div>`;
}

/** Put it first in every form that changes something. */
export function csrfField(token: string): Html {
  return html`<input type="hidden" name="csrfmiddlewaretoken" value="${token}">`;
}
