import { useApp } from './app.ts';

/** The tenants of the reader, if there are several. The address names the one that is shown. */
export function Tenants() {
  const { session, router } = useApp();
  const { tenants = [], tenant_id: own } = session.value ?? {};
  if (tenants.length < 2) return null;
  const shown = router.located.value.tenant ?? own;
  return (
    <label class="tenants">
      <span class="unseen">Tenant</span>
      <select value={shown} onChange={({ currentTarget }) => router.goTo(`t/${encodeURIComponent(currentTarget.value)}/`)}>
        {tenants.map((tenant) => (
          <option key={tenant} value={tenant}>
            {tenant}
          </option>
        ))}
      </select>
    </label>
  );
}
