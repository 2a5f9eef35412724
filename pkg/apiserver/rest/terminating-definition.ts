import { newForbidden, type GroupResource, type StatusError } from '#pkg/apimachinery/index';

/** A definition that is being deleted takes no new object: the StatusError 403 for a create; undefined otherwise. */
export function terminatingRefusal(
  { terminating, resource }: { terminating: boolean; resource: GroupResource },
  name = '',
): StatusError | undefined {
  return terminating
    ? newForbidden(resource, name, 'create not allowed while custom resource definition is terminating')
    : undefined;
}
