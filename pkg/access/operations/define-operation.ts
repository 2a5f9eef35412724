import { Type, type Static, type TObject, type TSchema } from 'typebox';
import type { AnswerHeaders } from '#pkg/http/index';
import { CheckedFields } from './checked-fields.ts';
import { nullable } from './field-schemas.ts';
import { listAnswer, rangeFields, type ListSource } from './list-answer.ts';
import {
  jsonAnswer,
  noContent,
  type AccessResponse,
  type Call,
  type OpenCall,
  type OpenOperation,
  type OperationDeclaration,
  type OperationDocument,
  type OperationRoute,
  type UserOperation,
} from './operation.ts';
import type { OperationPermission } from './permission.ts';

/** Reads the query and body that the declared schemas check. */
export interface CheckedReads<Query extends TObject, Body extends TObject> {
  readQuery(): CheckedFields<Static<Query>>;
  /** Throws as `AccessRequest.fields`. */
  readBody(): Promise<CheckedFields<Static<Body>>>;
}

type Answers = OperationDocument['answers'];
/** The value that the handler of an operation with these answers returns. */
type ValueOf<A extends Answers> = A extends { 200: infer S extends TSchema } | { 201: infer S extends TSchema }
  ? Static<S>
  : void;

/** The value of an answer, with additional headers. */
export class ValueWithHeaders<Value> {
  readonly value: Value;
  readonly headers: AnswerHeaders;

  constructor(value: Value, headers: AnswerHeaders) {
    this.value = value;
    this.headers = headers;
  }
}

type Answered<A extends Answers> = Promise<ValueOf<A> | ValueWithHeaders<ValueOf<A>>>;

interface CheckedDeclaration<Body extends TObject, A extends Answers> extends OperationDeclaration {
  readonly body?: Body;
  readonly answers: A;
}

interface UserDeclaration<Body extends TObject, A extends Answers, Granted> extends CheckedDeclaration<Body, A> {
  /** Checked first. */
  readonly permission: OperationPermission<Granted>;
  readonly handle: (call: Call & CheckedReads<TObject, Body>, granted: Granted) => Answered<A>;
}

interface OpenDeclaration<Body extends TObject, A extends Answers>
  extends CheckedDeclaration<Body, A>, Pick<OpenOperation, 'needsNoCsrfToken' | 'refusesOtherSites'> {
  readonly handle: (call: OpenCall & CheckedReads<TObject, Body>) => Answered<A>;
}

interface ListDeclaration<Query extends TObject, Record extends TSchema, Row, Granted> extends Omit<
  OperationDeclaration,
  'method' | 'answers' | 'body'
> {
  readonly permission: OperationPermission<Granted>;
  readonly record: Record;
  /** Filters, besides `limit` and `offset`. */
  readonly query?: Query;
  readonly list: (
    call: Call & CheckedReads<Query, TObject>,
    granted: Granted,
  ) => ListSource<Row, Static<Record>> | Promise<ListSource<Row, Static<Record>>>;
}

/** Defines an operation: its route, documentation, checks and types in one declaration. */
export function defineOperation<Body extends TObject, A extends Answers, Granted>(
  declaration: UserDeclaration<Body, A, Granted>,
): UserOperation {
  const { permission, handle, ...described } = declaration;
  return {
    ...routed(described),
    access: 'user',
    handle: async (call) => {
      const granted = await permission.check(call);
      return answerOf(described, await handle({ ...call, ...readsOf(call, described) }, granted));
    },
  };
}

/** Defines an operation that needs no credential. */
export function defineOpenOperation<Body extends TObject, A extends Answers>({
  handle,
  needsNoCsrfToken = false,
  refusesOtherSites = false,
  ...described
}: OpenDeclaration<Body, A>): OpenOperation {
  return {
    ...routed(described),
    access: 'open',
    needsNoCsrfToken,
    refusesOtherSites,
    handle: async (call) => answerOf(described, await handle({ ...call, ...readsOf(call, described) })),
  };
}

/** Defines a GET operation that answers a list, in either of the two forms. */
export function defineList<Query extends TObject, Record extends TSchema, Row, Granted>({
  permission,
  record,
  list,
  ...declaration
}: ListDeclaration<Query, Record, Row, Granted>): UserOperation {
  const url = nullable(Type.String());
  const all = Type.Array(record);
  const page = Type.Object({ count: Type.Integer(), next: url, previous: url, results: all });
  const answers = { 200: Type.Unsafe({ oneOf: [all, page] }) };
  const query = Type.Object({ ...rangeFields, ...declaration.query?.properties });
  return {
    ...routed({ ...declaration, method: 'GET', answers, query }),
    access: 'user',
    handle: async (call) => {
      const granted = await permission.check(call);
      return listAnswer(call, await list({ ...call, ...readsOf(call, declaration) }, granted));
    },
  };
}

function routed({
  method,
  path,
  operationId,
  ...document
}: OperationDeclaration): OperationRoute & { document: OperationDocument } {
  return { method, path, operationId, document };
}

/** The lowest declared status is that of success. */
function answerOf({ answers }: { answers: Answers }, result: unknown): AccessResponse {
  const { value, headers } = result instanceof ValueWithHeaders ? result : new ValueWithHeaders(result, {});
  return value === undefined ? { ...noContent, headers } : jsonAnswer(Number(Object.keys(answers)[0]), value, headers);
}

const nothing = Type.Object({}) as TObject;

function readsOf<Query extends TObject, Body extends TObject>(
  { request, query: sent }: OpenCall,
  { query, body }: { query?: Query; body?: Body },
): CheckedReads<Query, Body> {
  return {
    readQuery: () => CheckedFields.ofQuery(query ?? (nothing as Query), sent),
    readBody: async () => CheckedFields.ofBody(body ?? (nothing as Body), await request.fields()),
  };
}
