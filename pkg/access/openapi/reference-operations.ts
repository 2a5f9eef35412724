import { Type } from 'typebox';
import { PageFiles, referencePageFiles } from '#pkg/http/index';
import { newAccessNotFound } from '../http/access-error.ts';
import type { AccessResponse, Operation } from '../operations/operation.ts';
import { openApiDocument, type OpenApiDocumentOptions } from './open-api-document.ts';
import { referencePageHtml, referencePageScript } from './reference-page-html.ts';

const html = 'text/html; charset=utf-8';

/**
 * `/api/openapi.json`, which describes the given operations and itself, and the page that shows it; both need no
 * credential. The document does not change while the process runs.
 */
export function referenceOperations(described: readonly Operation[], options: OpenApiDocumentOptions): Operation[] {
  const document: Operation = {
    method: 'GET',
    path: '/api/openapi.json',
    operationId: 'getOpenApi',
    access: 'open',
    document: {
      summary: 'This description',
      tag: 'Reference',
      answers: { 200: Type.Object({ openapi: Type.String() }) },
    },
    handle: () => answerFile('openapi.json'),
  };
  const page: Operation = {
    method: 'GET',
    path: '/api/docs/',
    operationId: 'getReferencePage',
    access: 'open',
    handle: ({ request }) => answerFile(request.context.info.path.endsWith('/') ? '/slash' : '/bare'),
  };
  const file: Operation = {
    method: 'GET',
    path: '/api/docs/{file}/',
    operationId: 'getReferencePageFile',
    access: 'open',
    handle: ({ params }) => answerFile(params['file']!),
  };
  // A path cannot match a name with a slash.
  const files = new PageFiles({
    ...referencePageFiles,
    '/slash': { text: referencePageHtml({ withSlash: true }), contentType: html },
    '/bare': { text: referencePageHtml({ withSlash: false }), contentType: html },
    'init.js': { text: referencePageScript, contentType: 'text/javascript; charset=utf-8' },
    'openapi.json': {
      text: JSON.stringify(openApiDocument([...described, document], options)),
      contentType: 'application/json',
    },
  });

  async function answerFile(name: string): Promise<AccessResponse> {
    const found = await files.find(name);
    if (found === undefined) throw newAccessNotFound();
    return { status: 200, file: found };
  }

  return [document, page, file];
}
