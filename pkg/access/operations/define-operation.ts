import { Type, type Static, type TObject } from 'typebox';
import { CheckedFields } from './checked-fields.ts';
import type {
  AccessResponse,
  Call,
  OpenCall,
  OpenOperation,
  OperationDeclaration,
  OperationDocument,
  OperationRoute,
  UserOperation,
} from './operation.ts';
import type { Permission } from './permission.ts';

/** Reads what the declared schemas check. */
export interface CheckedReads<Query extends TObject, Body extends TObject> {
  readQuery(): CheckedFields<Static<Query>>;
  /** Throws as `AccessRequest.fields`. */
  readBody(): Promise<CheckedFields<Static<Body>>>;
}

interface CheckedDeclaration<Query extends TObject, Body extends TObject> extends OperationDeclaration {
  readonly query?: Query;
  readonly body?: Body;
}

interface UserDeclaration<Query extends TObject, Body extends TObject, Granted> extends CheckedDeclaration<
  Query,
  Body
> {
  /** Checked before all else. */
  readonly permission: Permission<Granted>;
  readonly handle: (call: Call & CheckedReads<Query, Body>, granted: Granted) => Promise<AccessResponse>;
}

/** One operation of the API, declared once: its routing, its document, its checks and the types of its code. */
export function defineOperation<Query extends TObject, Body extends TObject, Granted>(
  declaration: UserDeclaration<Query, Body, Granted>,
): UserOperation {
  const { permission, handle, ...described } = declaration;
  return {
    ...routed(described),
    access: 'user',
    handle: async (call) => handle({ ...call, ...readsOf(call, described) }, await permission.check(call)),
  };
}

/** One that anyone may call. */
export function defineOpenOperation<Body extends TObject>({
  handle,
  checksForm,
  ...described
}: CheckedDeclaration<TObject, Body> &
  Pick<OpenOperation, 'checksForm'> & {
    readonly handle: (call: OpenCall & CheckedReads<TObject, Body>) => Promise<AccessResponse>;
  }): OpenOperation {
  return {
    ...routed(described),
    access: 'open',
    ...(checksForm === undefined ? {} : { checksForm }),
    handle: (call) => handle({ ...call, ...readsOf(call, described) }),
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

const nothing = Type.Object({});

function readsOf<Query extends TObject, Body extends TObject>(
  { request, query: sent }: OpenCall,
  { query, body }: { query?: Query; body?: Body },
): CheckedReads<Query, Body> {
  return {
    readQuery: () => CheckedFields.ofQuery(query ?? (nothing as TObject as Query), sent),
    readBody: async () => CheckedFields.ofBody(body ?? (nothing as TObject as Body), await request.fields()),
  };
}
