import { PersonalTokens } from '../access/personal-tokens.tsx';

export default function TokensPage() {
  return <PersonalTokens level={1} />;
}
