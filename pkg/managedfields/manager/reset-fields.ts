/**
 * The fields that a request to an endpoint does not change whatever it contains, as paths of field names; nobody owns
 * them by such a request. `reset` names them, `keep` names all others: `{ keep: [['status']] }` is what `/status` has.
 */
export type ResetFields = { reset: readonly (readonly string[])[] } | { keep: readonly (readonly string[])[] };
