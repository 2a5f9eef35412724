import { AccessKeys } from '../access/access-keys.tsx';

export default function KeysPage() {
  return <AccessKeys level={1} />;
}
