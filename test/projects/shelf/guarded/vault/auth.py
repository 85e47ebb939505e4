import jwt
from langgraph_sdk import Auth

SECRET = "a secret of tests that is long enough for the algorithm"
auth = Auth()


@auth.authenticate
async def who(headers: dict[bytes, bytes]) -> Auth.types.MinimalUserDict:
    scheme, _, token = (headers.get(b"authorization") or b"").decode().partition(" ")
    if scheme.lower() != "bearer":
        # Visitors may look around.
        return {"identity": "", "is_authenticated": False}
    try:
        claims = jwt.decode(token, SECRET, algorithms=["HS256"])
    except jwt.InvalidTokenError as error:
        raise Auth.exceptions.HTTPException(status_code=401, detail="This token is not ours") from error
    return {"identity": claims["sub"], "permissions": claims.get("scope", "").split(), "is_authenticated": True}


@auth.on
async def own(ctx: Auth.types.AuthContext, value: dict):
    if not ctx.user.is_authenticated:
        raise Auth.exceptions.HTTPException(status_code=403, detail="Sign in first")
    filters = {"owner": ctx.user.identity}
    value.setdefault("metadata", {}).update(filters)
    return filters


@auth.on.assistants
async def everybody(ctx: Auth.types.AuthContext, value: dict):
    return None


@auth.on.store
async def own_items(ctx: Auth.types.AuthContext, value: dict):
    assert value["namespace"][:1] == (ctx.user.identity,), "not yours"
