import type { JsonObject } from '#pkg/apimachinery/index';

const signing = `HTTP Signature with an access key, which OpenAPI has no word for. The header is

\`Authorization: Signature keyId="<access key id>",algorithm="hmac-sha256",headers="(request-target) accept date",signature="<base64>"\`

and the signature is the HMAC-SHA256, under the key's secret, of one line for each name in \`headers\`, in that order, joined by LF without one at the end:

\`\`\`
(request-target): get /api/v1/users/users/?limit=10
accept: application/json
date: Tue, 05 Aug 2025 10:00:00 GMT
\`\`\`

- \`(request-target)\` is the method in lower case, a space, and path and query exactly as they are sent.
- \`(request-target)\` and \`date\` must be among the names. \`Date\` may be 300 seconds off, where the operator did not say otherwise.
- A body is covered by a \`Digest: SHA-256=<base64>\` header whose name is listed as \`digest\`.
- \`hmac-sha512\` and \`hs2019\` are accepted too, and so are the headers of RFC 9421 (\`Signature-Input\`, \`Signature\`).`;

/** The four kinds of credentials, in order of precedence. */
export const securitySchemes: Readonly<Record<string, JsonObject>> = {
  signature: { type: 'apiKey', in: 'header', name: 'Authorization', description: signing },
  privateToken: {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description:
      '`Authorization: Token <PRIVATE_TOKEN>`: permanent, one for each user; `svc private-token` makes and shows it on the server.',
  },
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: '`Authorization: Bearer <TOKEN>`, by `POST /api/v1/authentication/auth/`; it expires.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'svc_sessionid',
    description:
      'The session of the page `/login/` or of `POST /api/v1/authentication/sessions/`. Methods that change something need the CSRF token too: the value of cookie `svc_csrftoken` in header `X-CSRFToken`.',
  },
};

const text: JsonObject = { type: 'string' };
const texts: JsonObject = { type: 'array', items: text };

export const sharedSchemas: Readonly<Record<string, JsonObject>> = {
  Detail: {
    type: 'object',
    required: ['detail', 'code'],
    properties: { detail: { ...text, description: 'For people.' }, code: { ...text, description: 'For programs.' } },
  },
  FieldErrors: {
    type: 'object',
    description: 'What is wrong, by field; what concerns none is under `non_field_errors`.',
    additionalProperties: texts,
  },
  LoginError: {
    type: 'object',
    required: ['error', 'msg'],
    properties: {
      error: { ...text, enum: ['password_failed', 'block_login', 'user_inactive', 'user_expired'] },
      msg: { ...text, description: 'For people.' },
    },
  },
};

export const schemaReference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });
export const responseReference = (name: string): JsonObject => ({ $ref: `#/components/responses/${name}` });
export const parameterReference = (name: string): JsonObject => ({ $ref: `#/components/parameters/${name}` });
export const jsonContent = (schema: JsonObject): JsonObject => ({ 'application/json': { schema } });

const detail = jsonContent(schemaReference('Detail'));
const retryAfter: JsonObject = {
  'Retry-After': {
    description: 'In how many seconds it may be tried again.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
  },
};

export const sharedResponses: Readonly<Record<string, JsonObject>> = {
  BadRequest: {
    description: 'What was sent is no use: `{field: [texts]}`, or `{detail, code}` where it could not even be read.',
    content: jsonContent({ anyOf: [schemaReference('FieldErrors'), schemaReference('Detail')] }),
  },
  Unauthorized: {
    description: 'No credential, or a wrong one: `not_authenticated`, `authentication_failed`.',
    headers: { 'WWW-Authenticate': { description: 'The schemes.', required: true, schema: text } },
    content: detail,
  },
  Forbidden: {
    description: 'Not permitted (`permission_denied`), or a session without its CSRF token (`csrf_failed`).',
    content: detail,
  },
  NotFound: {
    description: 'There is no such thing (`not_found`), or no such organization (`org_not_found`).',
    content: detail,
  },
  Conflict: { description: 'As things are, it cannot be done.', content: detail },
  TooLarge: { description: 'The body is larger than 1 MiB; of a login, and of parts, than 64 KiB.', content: detail },
  UnsupportedMediaType: { description: 'The body is of another type.', content: detail },
  Throttled: { description: 'Too many requests in this minute.', headers: retryAfter, content: detail },
  Failure: { description: 'Any other failure.', content: detail },
};

export const sharedParameters: Readonly<Record<string, JsonObject>> = {
  Organization: {
    name: 'X-SVC-ORG',
    in: 'header',
    description:
      'The organization in which the call is made: its id, its name, `ROOT` (all of them; needs a system role) or `DEFAULT`. Without it: the only organization of the caller, else `DEFAULT`.',
    schema: text,
    example: '00000000-0000-0000-0000-000000000002',
  },
  OrganizationId: {
    name: 'oid',
    in: 'query',
    description: 'Like the header `X-SVC-ORG`, and wins over it.',
    schema: text,
  },
  CsrfToken: {
    name: 'X-CSRFToken',
    in: 'header',
    description: 'With the session cookie only, and then required: the value of the cookie `svc_csrftoken`.',
    schema: text,
  },
};
