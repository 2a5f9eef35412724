import { newNotAcceptable, newUnknownPath } from '#pkg/apimachinery/index';
import {
  answerPageFile,
  getOnly,
  negotiate,
  PageFiles,
  referencePageFiles,
  send,
  type EndpointGroup,
  type RequestContext,
} from '#pkg/http/index';
import { answerDocument } from '../discovery/answer-document.ts';
import { OpenApiDocuments, type OpenApiDocumentsOptions } from './open-api-documents.ts';
import { indexHtml } from './page/index-html.ts';
import { initJs } from './page/init-js.ts';
import { isReferenceName } from './reference-document.ts';
import { swaggerProtobufType } from './swagger-document.ts';

const json = [{ type: 'application/json' }] as const;
/** Protobuf has an older name, which kubectl up to 1.24 asks for. */
const swaggerFormats = [
  { type: 'application/json', name: 'json' },
  { type: swaggerProtobufType, name: 'protobuf' },
  { type: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf', name: 'protobuf' },
] as const;
const yearMs = 365 * 24 * 60 * 60_000;
const pageFiles = {
  ...referencePageFiles,
  '': { text: indexHtml, contentType: 'text/html; charset=utf-8' },
  'init.js': { text: initJs, contentType: 'text/javascript; charset=utf-8' },
} as const;

/**
 * `/openapi/v2`, `/openapi/v3`, `/docs` and `/docs/openapi/*.json` as endpoint groups. The page with its files and the
 * document of the Public group are open; the other documents require `get` on their path. For discovery see
 * `withDiscovery`.
 */
export function documentEndpoints(options: OpenApiDocumentsOptions): EndpointGroup[] {
  const documents = new OpenApiDocuments(options);
  const files = new PageFiles(pageFiles);
  return [
    { prefix: '/openapi/v2', router: getOnly((context) => answerSwagger(context, documents)) },
    { prefix: '/openapi/v3', router: getOnly((context) => answerKubernetes(context, documents)) },
    { prefix: '/docs', isOpen: true, router: getOnly((context) => answerPage(context, files)) },
    { prefix: '/docs/openapi', router: getOnly((context) => answerReference(context, documents)) },
    {
      prefix: '/docs/openapi/public.json',
      isOpen: true,
      router: getOnly((context) => answerReference(context, documents)),
    },
  ];
}

async function answerSwagger(context: RequestContext, documents: OpenApiDocuments): Promise<void> {
  if (context.info.path !== '/openapi/v2') throw newUnknownPath();
  const format = negotiate(context.request.headers.accept, swaggerFormats);
  if (format === undefined)
    throw newNotAcceptable(
      `only the following media types are accepted: ${swaggerFormats.map(({ type }) => type).join(', ')}`,
    );
  return answerDocument(context, await documents.swagger(format.name));
}

async function answerKubernetes(context: RequestContext, documents: OpenApiDocuments): Promise<void> {
  checkAccept(context);
  const path = context.info.path.slice('/openapi/v3'.length + 1);
  if (context.info.path === '/openapi/v3') return answerDocument(context, await documents.index());
  const document = await documents.kubernetes(path);
  if (document === undefined) throw newUnknownPath();
  const asked = context.query.get('hash');
  if (asked === null || asked === '') return answerDocument(context, document);
  if (asked !== document.hash)
    return send(context, 301, 'text/plain; charset=utf-8', '', {
      Location: `/openapi/v3/${path}?hash=${document.hash}`,
    });
  return answerDocument(context, document, {
    'Cache-Control': 'private, immutable',
    Expires: new Date(Date.now() + yearMs).toUTCString(),
  });
}

async function answerReference(context: RequestContext, documents: OpenApiDocuments): Promise<void> {
  const name = /^\/docs\/openapi\/([a-z]+)\.json$/.exec(context.info.path)?.[1] ?? '';
  if (!isReferenceName(name)) throw newUnknownPath();
  checkAccept(context);
  return answerDocument(context, await documents.reference(name));
}

async function answerPage(context: RequestContext, files: PageFiles): Promise<void> {
  const { path } = context.info;
  if (path === '/docs/') return send(context, 308, 'text/plain; charset=utf-8', '', { Location: '../docs' });
  const file = await files.find(path.slice('/docs/'.length));
  if (file === undefined) throw newUnknownPath();
  answerPageFile(context, file);
}

function checkAccept({ request }: RequestContext): void {
  if (negotiate(request.headers.accept, json) === undefined)
    throw newNotAcceptable('only the following media types are accepted: application/json');
}
