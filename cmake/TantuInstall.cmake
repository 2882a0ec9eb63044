# install rules follow
