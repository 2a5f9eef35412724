/**
 * `@svc/client/react`: hooks of React 18 and 19 for lists that stay up to date, edits that merge, and what the user may
 * do.
 */
export { useCan } from './use-can.ts';
export { useEdit, type EditState } from './use-edit.ts';
export { useLive, type LiveResult } from './use-live.ts';
export { useObject, type LiveObject } from './use-object.ts';
export type { Permission, PermissionQuestion } from '../access/permission-check.ts';
