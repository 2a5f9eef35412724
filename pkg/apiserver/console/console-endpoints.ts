import { randomBytes } from 'node:crypto';
import { newUnknownPath } from '#pkg/apimachinery/index';
import {
  answerPageFile,
  getOnly,
  policySource,
  send,
  ServiceUrl,
  TrustedProxies,
  type EndpointGroup,
  type RequestContext,
} from '#pkg/http/index';
import type { ConsoleFiles, ConsoleFolder, BuiltPage } from './console-files.ts';

const prefix = '/console';
const userCenterPrefix = '/uc';
/** Names in this folder have a hash of their content. */
const hashedFolder = 'assets/';
const yearSeconds = 365 * 24 * 60 * 60;

/**
 * Scripts are files of this origin, and no text becomes code or markup by accident: scripts need Trusted Types. React
 * Aria and CodeMirror add style elements, which have the nonce of the answer.
 */
function contentSecurityPolicy(nonce: string, origin: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "worker-src 'self'",
    // Pages of plugins. No other page of this origin can be framed.
    `frame-src ${policySource(origin, '/plugin-pages/')}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ');
}

/**
 * A file is no page: should a browser show it as one, it may do nothing. The script of a worker has this policy, too: it
 * asks the API.
 */
const filePolicy = "default-src 'none'; connect-src 'self'; frame-ancestors 'none'";

type OriginReader = Pick<ServiceUrl, 'originOf'>;

export interface ConsoleEndpointsOptions {
  /** The URL of this server, for the policy. Default: as the Host header says. */
  url?: OriginReader;
}

/**
 * The console and the user center, open to anyone: they have no data of their own. `/` leads to the console. Paths that
 * only a router in the browser knows are answered with its page, except below `assets` of the console, which has the
 * files of both: a missing file there belongs to another version.
 */
export function consoleEndpoints(
  folder: ConsoleFolder,
  { url = new ServiceUrl(new TrustedProxies([])) }: ConsoleEndpointsOptions = {},
): EndpointGroup[] {
  return [
    {
      prefix: '/',
      owns: (path) => path === '/',
      isOpen: true,
      router: getOnly((context) => redirect(context, 302, './console/')),
    },
    { prefix, isOpen: true, router: getOnly((context) => answerConsole(context, folder, url)) },
    { prefix: userCenterPrefix, isOpen: true, router: getOnly((context) => answerUserCenter(context, folder, url)) },
  ];
}

async function answerConsole(context: RequestContext, folder: ConsoleFolder, url: OriginReader): Promise<void> {
  const { path } = context.info;
  if (path === prefix) return redirect(context, 308, './console/');
  const name = path.slice(prefix.length + 1);
  const files = await folder.files();
  const file = await files?.find(name);
  const isHashed = name.startsWith(hashedFolder);
  if (file !== undefined)
    return answerPageFile(context, file, {
      policy: filePolicy,
      ...(isHashed ? { cacheControl: `public, max-age=${yearSeconds}, immutable` } : {}),
    });
  if (isHashed) throw newUnknownPath();
  await answerPage(context, files, { page: 'console', url });
}

async function answerUserCenter(context: RequestContext, folder: ConsoleFolder, url: OriginReader): Promise<void> {
  if (context.info.path === userCenterPrefix) return redirect(context, 308, './uc/');
  await answerPage(context, await folder.files(), { page: 'userCenter', url });
}

async function answerPage(
  context: RequestContext,
  files: ConsoleFiles | undefined,
  { page, url }: { page: BuiltPage; url: OriginReader },
): Promise<void> {
  if (files === undefined) return answerNotBuilt(context);
  const nonce = randomBytes(16).toString('base64');
  await send(context, 200, 'text/html; charset=utf-8', files.pageWith(page, nonce), {
    'Cache-Control': 'no-store',
    'Content-Security-Policy': contentSecurityPolicy(nonce, url.originOf(context.request)),
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Referrer-Policy': 'same-origin',
  });
}

const notBuilt = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>svc console</title>
<h1>The console is not built</h1>
<p>Run <code>npm run build:console</code> in the folder of svc, then load this page again. The server can go on running.</p>
<p>The API works without the console.</p>
</html>
`;

function answerNotBuilt(context: RequestContext): Promise<void> {
  return send(context, 503, 'text/html; charset=utf-8', notBuilt, {
    'Cache-Control': 'no-store',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Retry-After': '10',
  });
}

function redirect(context: RequestContext, status: number, location: string): Promise<void> {
  return send(context, status, 'text/plain; charset=utf-8', '', { Location: location });
}
