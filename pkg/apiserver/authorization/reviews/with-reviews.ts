import {
  decodeJson,
  decodeYamlInTurns,
  formatGroupResource,
  groupResource,
  isJsonObject,
  newBadRequest,
  newInvalid,
  newMethodNotAllowed,
  newUnknownPath,
  type GroupVersionKind,
  type JsonObject,
  type Model,
} from '#pkg/apimachinery/index';
import {
  localSubjectAccessReviewModel,
  selfSubjectAccessReviewModel,
  selfSubjectReviewModel,
  selfSubjectRulesReviewModel,
  subjectAccessReviewModel,
  tokenReviewModel,
} from '#pkg/apis/index';
import { parseContentType, readBody, send, type Filter, type RequestContext } from '#pkg/http/index';
import { encodeValue, plainFormat } from '../../handlers/answer/answer-format.ts';
import { checkTypeMeta, setMissingTypeMeta } from '../../handlers/request/object-identity.ts';
import { decodeProtobuf, protobufType } from '../../protobuf/decode-protobuf.ts';
import { compileSchemaValidator, type SchemaValidator } from '../../schema/schema-validator.ts';
import { reviewRules, reviewSelf, reviewSubject, reviewSubjectLocally } from './access-reviews.ts';
import { reviewOneself, reviewToken } from './identity-reviews.ts';
import { reviewFields } from './review-fields.ts';
import type { Reviewer, ReviewParts } from './review.ts';

const accepted = ['application/json', 'application/yaml', 'text/yaml', protobufType] as const;
/** Reviews are short. Bytes. */
const bodyLimit = 256 << 10;

interface ServedReview {
  model: Model;
  validator: SchemaValidator;
  reviewer: Reviewer;
}

const served = new Map(
  (
    [
      [selfSubjectAccessReviewModel, reviewSelf],
      [selfSubjectRulesReviewModel, reviewRules],
      [subjectAccessReviewModel, reviewSubject],
      [localSubjectAccessReviewModel, reviewSubjectLocally],
      [selfSubjectReviewModel, reviewOneself],
      [tokenReviewModel, reviewToken],
    ] satisfies [Model, Reviewer][]
  ).map(([model, reviewer]): [string, ServedReview] => [
    formatGroupResource(groupResource(model)),
    { model, reviewer, validator: compileSchemaValidator(model.versions[0]!.schema) },
  ]),
);

/**
 * Answers reviews: a POST of a question about a user's identity or permissions gets 201 with the answer as its status.
 * Bodies may be protobuf, as kubectl sends them; answers are JSON or YAML. A token is not repeated in the answer.
 * @throws StatusError 400, 404, 405, 406, 413, 415, 422
 */
export function withReviews(parts: ReviewParts): Filter {
  return (next) => async (context) => {
    const { info, user } = context;
    const review = info.isResourceRequest && info.version === 'v1' ? served.get(formatGroupResource(info)) : undefined;
    if (review === undefined) return next(context);
    checkPath(context, review.model);
    const format = plainFormat(context);
    const { spec = {}, ...object } = await readReview(context, review);
    const status = await review.reviewer({ parts, user, spec: spec as JsonObject, namespace: info.namespace });
    const { token: _, ...shown } = spec as JsonObject;
    await send(
      context,
      201,
      format.type,
      encodeValue(format, { ...object, metadata: metadataOf(info.namespace), spec: shown, status }),
      { Vary: 'Accept' },
    );
  };
}

function metadataOf(namespace: string): JsonObject {
  return namespace === '' ? {} : { namespace };
}

function checkPath({ info, response }: RequestContext, model: Model): void {
  const isInNamespace = info.namespace !== '';
  if (info.rest.length > 0 || info.subresource !== '' || isInNamespace !== (model.scope === 'Namespaced'))
    throw newUnknownPath();
  if (info.verb === 'create' && info.name === '') return;
  response.setHeader('Allow', 'POST');
  throw newMethodNotAllowed(groupResource(model), info.verb);
}

async function readReview(context: RequestContext, { model, validator }: ServedReview): Promise<JsonObject> {
  const kind: GroupVersionKind = { group: model.group, version: 'v1', kind: model.names.kind };
  const { type } = parseContentType(context.request.headers['content-type'], accepted);
  const bytes = await readBody(context, { maxBytes: bodyLimit });
  await context.bytes.parse(bytes.length);
  const object = await decode(type, bytes, kind.kind);
  setMissingTypeMeta(object, kind);
  checkTypeMeta(object, kind);
  validator.prune(object);
  validator.applyDefaults(object);
  const causes = validator.validate(object);
  if (causes.length > 0) throw newInvalid(kind, '', causes);
  return object;
}

async function decode(type: string, bytes: Buffer, kind: string): Promise<JsonObject> {
  if (bytes.length === 0) throw newBadRequest('the body of the request is empty');
  if (type === protobufType) return decodeProtobuf(bytes, reviewFields[kind]!);
  const { value } = type.endsWith('/yaml') ? await decodeYamlInTurns(bytes) : decodeJson(bytes);
  if (!isJsonObject(value)) throw newBadRequest('the body of the request must be an object');
  return value;
}
