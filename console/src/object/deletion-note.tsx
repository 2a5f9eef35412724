import type { AnyObject, Stored } from '@svc/client';
import { Link } from 'wouter';
import { missingRule } from '../server/missing-rule.ts';
import type { ModelInfo } from '../server/model-info.ts';
import { usePermissions } from '../server/permissions.ts';
import { objectLink } from '../shell/links.ts';
import { formatDate, texts } from '../texts/texts.ts';

/** What the deletion of an object waits for, and who can end the wait. Nothing for an object that stays. */
export function DeletionNote({ model, object }: { model: ModelInfo; object: Stored<AnyObject> }) {
  const { deletionTimestamp, finalizers = [], name, namespace = '' } = object.metadata;
  const right = { verb: 'update', model, name };
  const isAllowed = usePermissions(namespace)(right);
  if (deletionTimestamp === undefined) return undefined;
  const rule = missingRule({ ...right, namespace });
  return (
    <div role="status" className="note warning">
      <p>
        {texts.object.deleting(formatDate(deletionTimestamp))} <code>{finalizers.join(', ')}</code>
      </p>
      <p>
        {texts.object.finalizers}{' '}
        {isAllowed ? (
          <Link href={`${objectLink(model, object.metadata)}?tab=yaml`}>{texts.object.mayRemoveFinalizers}</Link>
        ) : (
          texts.object.whoRemovesFinalizers(rule)
        )}
      </p>
    </div>
  );
}
