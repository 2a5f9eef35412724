import { newUnknownPath } from '#pkg/apimachinery/index';
import {
  acceptsCoding,
  beginAnswer,
  getOnly,
  isAnswered,
  isNotModified,
  policySource,
  type EndpointGroup,
  type RequestContext,
  type ServiceUrl,
} from '#pkg/http/index';
import { anonymousUser } from '#pkg/identity/index';
import { contentTypeOf } from '../pages/content-type-of.ts';
import { pageFileOperation } from '../pages/page-file-operation.ts';
import type { EndpointCall, EndpointResult } from './endpoint-call.ts';

const prefix = '/plugin-pages';
const pathForm = /^\/plugin-pages\/([a-z0-9-]{1,253})\/([0-9a-f]{32})\/([A-Za-z0-9_][A-Za-z0-9._/-]{0,1000})$/;
const yearSeconds = 365 * 24 * 60 * 60;

/** What a frame of the console would not have either: its origin is nobody's. */
const withoutFeatures = ['camera', 'display-capture', 'geolocation', 'microphone', 'payment', 'usb', 'serial', 'hid']
  .map((feature) => `${feature}=()`)
  .join(', ');

/**
 * Sandboxed wherever it is opened: a page of a plugin reaches the files of its own URL, and nothing else. What it may
 * do goes through the port that its host gives it. `folder`: the URL of its files.
 */
function contentSecurityPolicy(folder: string): string {
  return [
    'sandbox allow-scripts',
    "default-src 'none'",
    `script-src ${folder}`,
    `style-src ${folder}`,
    `img-src ${folder} data:`,
    `font-src ${folder}`,
    "connect-src 'none'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'self'",
  ].join('; ');
}

export interface PageFilesOptions {
  url: Pick<ServiceUrl, 'originOf'>;
  /** @throws StatusError for a plugin that does not run, and 404 for a file that it does not have */
  call: (context: RequestContext, call: EndpointCall) => Promise<EndpointResult>;
}

/**
 * The files of the pages of plugins, open to anyone who knows their URL: they contain nothing secret. A URL has the hash
 * of the content, so that a file may be kept for ever.
 */
export function pageFilesGroup({ url, call }: PageFilesOptions): EndpointGroup {
  return { prefix, isOpen: true, router: getOnly((context) => answerFile(context, { url, call })) };
}

async function answerFile(context: RequestContext, { url, call }: PageFilesOptions): Promise<void> {
  const { request, response, info, id } = context;
  const [, plugin, hash, path] = pathForm.exec(info.path) ?? [];
  const contentType = path === undefined ? undefined : contentTypeOf(path);
  if (plugin === undefined || hash === undefined || path === undefined || contentType === undefined)
    throw newUnknownPath();
  const coding = acceptsCoding(request.headers['accept-encoding'], 'gzip') ? 'gzip' : '';
  const answer = await call(context, {
    plugin,
    operationId: pageFileOperation,
    endpoint: `GET ${prefix}`,
    params: { hash, path, coding },
    query: '',
    user: anonymousUser,
    requestId: id,
  });
  if (isAnswered(response)) return;
  const isHeld = isNotModified(request.headers['if-none-match'], hash);
  const body = answer.file ?? new Uint8Array();
  beginAnswer(context, isHeld ? 304 : 200, {
    ...(isHeld ? {} : { 'Content-Type': contentType, 'Content-Length': String(body.length) }),
    ...(answer.headers['content-encoding'] === 'gzip' ? { 'Content-Encoding': 'gzip' } : {}),
    ETag: `"${hash}"`,
    'Cache-Control': `public, max-age=${yearSeconds}, immutable`,
    'Content-Security-Policy': contentSecurityPolicy(
      policySource(url.originOf(request), `${prefix}/${plugin}/${hash}/`),
    ),
    'Permissions-Policy': withoutFeatures,
    // Chromium then gives each page a process of its own: one that hangs stops no other. Source: WICG, Document-Isolation-Policy.
    'Document-Isolation-Policy': 'isolate-and-credentialless',
    'Referrer-Policy': 'no-referrer',
    'X-DNS-Prefetch-Control': 'off',
    // Fonts and modules are asked for by an origin that is nobody's.
    'Access-Control-Allow-Origin': '*',
    Vary: 'Accept-Encoding',
  });
  if (isHeld || request.method === 'HEAD') response.end();
  else response.end(body);
}
