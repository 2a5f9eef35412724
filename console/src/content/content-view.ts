import type { ListView } from '../list/list-view.ts';
import type { ModelInfo } from '../server/model-info.ts';
import { listViewOf, type ListSpec } from '../views/saved-view.ts';

/** What a part lists. A model without namespaces has none, whatever the part says. */
export function contentView(model: ModelInfo, spec: ListSpec): ListView {
  return { ...listViewOf(spec), ...(model.namespaced ? {} : { namespace: '' }) };
}
