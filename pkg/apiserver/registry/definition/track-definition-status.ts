import { definitionModel } from '#pkg/apis/index';
import type { JsonApiObject } from '../../rest/strategy.ts';
import { platformManager } from '../../rest/write-context.ts';
import { FieldTracker } from '../model/field-tracker.ts';

const fields = new FieldTracker(definitionModel, definitionModel.versions[0]!);

/** Gives the platform the managed fields of what it changed in a definition's status. */
export function trackDefinitionStatus(before: JsonApiObject, object: JsonApiObject): void {
  const entries = fields.update(before, object, { manager: platformManager, subresource: 'status' });
  if (entries.length > 0) object.metadata.managedFields = entries;
}
