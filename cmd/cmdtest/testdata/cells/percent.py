# ---
# title: Percent
# ---

# %% [markdown]
# Text

# %% tags=["parameters"]
n = 1

# %% language="bash"
# echo a

# %%
# %matplotlib inline
print(n)
