// A real OpenID provider on this machine, for tests: people, their claims and the one client come as JSON in the
// environment; its address is the first line it prints. It ends with its standard input.
import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import Provider from 'oidc-provider'

const { people, client } = JSON.parse(process.env.OIDC_TEST)

const key = (kind, options, more) => ({
  ...generateKeyPairSync(kind, options).privateKey.export({ format: 'jwk' }), use: 'sig', ...more,
})

const configuration = {
  clients: [{ ...client, grant_types: ['authorization_code'], response_types: ['code'] }],
  jwks: { keys: [key('rsa', { modulusLength: 2048 }, { kid: 'rsa' }), key('ec', { namedCurve: 'P-256' }, { kid: 'ec' })] },
  claims: { openid: ['sub'], profile: ['name', 'preferred_username', 'email', 'roles', 'realm_access'] },
  conformIdTokenClaims: false, // claims stand in the ID token, as most providers put them
  enabledJWA: { idTokenSigningAlgValues: ['RS256', 'PS256', 'ES256'] },
  features: { devInteractions: { enabled: true }, rpInitiatedLogout: { enabled: true } },
  cookies: { keys: ['for tests alone'] },
  ttl: { Session: 600, Interaction: 600, Grant: 600, AccessToken: 60, IdToken: 60, AuthorizationCode: 30 },
  findAccount: (_, id) => (id in people ? { accountId: id, claims: () => ({ sub: id, ...people[id] }) } : undefined),
}

const server = createServer()
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`
  server.on('request', new Provider(issuer, configuration).callback())
  console.log(issuer)
})
process.stdin.on('end', () => process.exit(0)).resume()
