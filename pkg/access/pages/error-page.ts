import { isJsonObject } from '#pkg/apimachinery/index';
import type { RequestContext } from '#pkg/http/index';
import { csrfTokenFailure, type AccessError } from '../http/access-error.ts';
import type { AccessResponse } from '../operations/operation.ts';
import { html } from './html.ts';
import { pageAnswer } from './page.ts';

const titles: Readonly<Record<number, string>> = {
  400: 'That could not be read',
  401: 'Not logged in',
  403: 'Not permitted',
  404: 'There is no such page',
  405: 'That cannot be done here',
  413: 'That is too large',
  429: 'Too many requests',
  503: 'Not available at the moment',
};

/** An error as a page, if a browser asks for one; undefined for other clients, and for all API paths. */
export function errorPage(context: RequestContext, failure: AccessError): AccessResponse | undefined {
  const { info, request } = context;
  if (info.path === '/api' || info.path.startsWith('/api/') || request.headers.accept?.includes('text/html') !== true)
    return undefined;
  const { status } = failure;
  return pageAnswer({
    status,
    title: titles[status] ?? 'Something went wrong',
    isProblem: true,
    body: html`<div class="card"><p>${textOf(failure)}</p>
${status >= 500 && html`<p>If it goes on, tell an administrator the number of this request: <code>${context.id}</code></p>`}
<p><a href="/settings/">Go to your settings</a></p></div>`,
  });
}

function textOf({ body }: AccessError): string {
  const { detail, code } = isJsonObject(body) ? body : {};
  if (code === 'not_found') return 'Perhaps its address was mistyped, or what was there is gone.';
  if (code === 'csrf_failed' && detail === csrfTokenFailure)
    return 'This form is no longer valid; perhaps you have logged in anew since. Go back, load its page anew, and send it again.';
  return typeof detail === 'string' ? detail : 'What was sent is no use here.';
}
